//! `papir update`: applies changes to a prepared database.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use papir_core::Run;
use papir_lookup::update::ChangeCounts;
use papir_plan::units::parse_bytes;
use papir_store::{DeltaReport, UpdateOptions, UpdateReport, Way};
use serde_json::{Value, json};

use crate::arguments::changes::ChangeArguments;
use crate::arguments::owner_key;
use crate::arguments::sign::{self, SignArguments};
use crate::arguments::source_form::SourceFiles;
use crate::describe;
use crate::failure::{Failure, Outcome};
use crate::progress::Bars;

/// Update a prepared database: set and delete keys, without its original source.
///
/// Each row of the change file sets a key, new or existing, to a value, or deletes it if the delete
/// column (in JSON Lines also the field `_delete`) is 1, true or yes. If a key occurs several
/// times, its last row counts. For databases looked up by number, rows give the record number;
/// numbers after the last record append records. The new version replaces the file completely or
/// not at all. `papir serve` loads it on SIGHUP.
///
/// With --delta, the file stays as it is, and the changes since it go to a small file beside it,
/// which takes the time of the changes alone. Every lookup then asks both. `papir merge` makes one
/// file of them again: until then, deleted and replaced values stay in the database's file.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The prepared database, as written by `papir build`.
    file: PathBuf,
    /// The change file; - for standard input. May be given several times, and be a pattern with *
    /// or ?: the files then follow each other.
    #[arg(long, value_name = "CHANGES", required = true)]
    from: Vec<PathBuf>,
    #[command(flatten)]
    columns: ChangeArguments,
    /// Write the new version here, and leave FILE unchanged.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace a file at --out that papir did not write.
    #[arg(long, requires = "out")]
    force: bool,
    /// Keep the replaced version as FILE.VERSION, and at most N such files, for `papir versions`
    /// and `papir rollback`.
    #[arg(long, value_name = "N", conflicts_with = "out")]
    keep: Option<usize>,
    /// The file with the owner's key of an encrypted database.
    #[arg(long, value_name = "KEYFILE")]
    encrypt: Option<PathBuf>,
    #[command(flatten)]
    signing: SignArguments,
    /// Print one JSON object: mode, changes, seconds, written_bytes, version, sequence.
    #[arg(long)]
    json: bool,
    /// Rearrange all keys and prepare all records again, even if less would suffice.
    #[arg(long)]
    rebuild: bool,
    /// Publish the changes beside the file, as its delta, instead of a new version of the file.
    #[arg(long, conflicts_with_all = ["out", "keep", "rebuild", "encrypt"])]
    delta: bool,
    /// The most that the delta may have, tags and lengths included [default: 4MiB].
    #[arg(long, value_name = "BYTES", requires = "delta", value_parser = parse_bytes)]
    delta_bytes: Option<u64>,
}

const EXAMPLES: &str = "Examples:
  papir update words.papir --from changes.csv
  papir update words.papir --from changes.csv --delete-column gone --keep 3
  papir update people.papir --from changes.jsonl --out people-next.papir
  papir update hashes.papir --from changes.csv --key index --value hash
  papir update blocked.papir --from more.txt
  papir update hashes.papir --from 'new/*.txt.zst' --format pairs --key-length 40 --key-hex
  papir update words.papir --from changes.csv --delta
  papir update secret.papir --from changes.csv --encrypt secret.key
  papir update words.papir --from changes.csv --sign owner.key
  papir update words.papir --from changes.csv --delta --sign owner.key";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    // Insecure schemes are allowed here: the build allowed them, and serving needs permission
    // again.
    papir_research::register()?;

    let SourceFiles { first, more } = SourceFiles::named(&arguments.from)?;
    if let Some(out) = &arguments.out {
        let mut inputs = vec![first.as_path()];
        inputs.extend(more.iter().map(PathBuf::as_path));
        inputs.extend(arguments.encrypt.as_deref());
        inputs.extend(arguments.signing.files());
        // The database itself is updated in place.
        papir_store::check_output(out, &inputs, arguments.force)?;
    }

    let options = UpdateOptions {
        more,
        out: arguments.out.clone(),
        force: arguments.force,
        keep: arguments.keep,
        rebuild: arguments.rebuild,
        rates: papir_plan::rates_file::load(None)?.rates,
        sign: arguments.signing.sign()?,
        unsigned: arguments.signing.unsigned(),
        encrypt: owner_key::read(arguments.encrypt.as_deref())?,
        ..arguments
            .columns
            .set(UpdateOptions::new(&arguments.file, first))
    };

    // Timed after the key files have been read: a passphrase or a slow disk is no time of the
    // update.
    if arguments.delta {
        let start = Instant::now();
        let updated = papir_store::update_delta(
            &options,
            arguments.delta_bytes,
            &mut Run::new(&mut papir::system_rng(), &Bars::new()),
        );
        let report = updated.map_err(explain)?;
        // A delta has a report of its own: it has no way of preparing, and a bound that it may
        // reach.
        return print_delta(report.as_ref(), start.elapsed(), arguments.json);
    }

    publish(arguments.json, |run| papir_store::update(&options, run))
}

/// Publishes a version, and prints its report with the time that it took.
pub(super) fn publish(
    json: bool,
    work: impl FnOnce(&mut Run<'_>) -> papir_store::Result<UpdateReport>,
) -> Outcome {
    let start = Instant::now();
    let report = work(&mut Run::new(&mut papir::system_rng(), &Bars::new())).map_err(explain)?;
    print(&report, start.elapsed(), json)
}

/// Prints the report of an update of a delta; `None` if there was nothing to change.
pub(super) fn print_delta(report: Option<&DeltaReport>, time: Duration, json: bool) -> Outcome {
    let mut out = std::io::stdout();
    match (report, json) {
        (None, false) => writeln!(out, "nothing to change")?,
        (None, true) => writeln!(out, "{}", json!({ "mode": "unchanged" }))?,
        (Some(report), false) => describe::print(&describe::delta_update(report), &mut out)?,
        (Some(report), true) => writeln!(out, "{}", delta_as_json(report, time))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn delta_as_json(report: &DeltaReport, time: Duration) -> Value {
    let DeltaReport {
        metadata,
        rows,
        superseded,
        bytes,
        most,
        checkpoint,
    } = report;

    json!({
        "name": metadata.name,
        "mode": "delta",
        "rows": rows,
        "superseded": superseded,
        "entries": metadata.entries,
        "bytes": bytes,
        "most_bytes": most,
        "seconds": time.as_secs_f64(),
        "base": metadata.base,
        "version": metadata.version,
        "sequence": checkpoint.as_ref().map(|leaf| leaf.sequence),
    })
}

/// Prints the report of an update or a rollback.
fn print(report: &UpdateReport, time: Duration, json: bool) -> Outcome {
    let mut out = std::io::stdout();
    match json {
        true => writeln!(out, "{}", as_json(report, time))?,
        false => describe::print(&describe::update(report), &mut out)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Converts an error to a message, with the option that resolves it, if any.
pub(super) fn explain(error: papir_store::Error) -> Failure {
    match error {
        // The option is named here: the library has no options, and Python calls its own otherwise.
        papir_store::Error::Core(error @ papir_core::Error::OwnerKey { .. })
        | papir_store::Error::Snapshot {
            error: error @ papir_core::Error::OwnerKey { .. },
            ..
        } => Failure::new(format!("{error} (--encrypt)")),
        other => sign::explain(other),
    }
}

fn as_json(report: &UpdateReport, time: Duration) -> Value {
    let ChangeCounts {
        inserted,
        replaced,
        deleted,
        absent,
        superseded,
    } = report.counts;
    let unchanged = report.way == Way::Unchanged;

    json!({
        "name": report.metadata.name,
        "mode": mode(&report.way),
        "done": report.way.to_string(),
        "changes": { "inserted": inserted, "replaced": replaced, "deleted": deleted, "absent": absent,
            "superseded": superseded },
        "seconds": time.as_secs_f64(),
        // A file that stays the same is not written again.
        "written_bytes": if unchanged { 0 } else { report.snapshot_bytes },
        "version": report.metadata.version,
        "sequence": report.checkpoint.as_ref().map(|leaf| leaf.sequence),
    })
}

/// A stable word for the way in which the version was made.
fn mode(way: &Way) -> &'static str {
    match way {
        Way::Unchanged => "unchanged",
        Way::Updated { .. } => "updated",
        Way::SetUp { .. } => "set_up",
        Way::Proven { .. } => "proven",
        Way::Extended { .. } => "extended",
        Way::Rebuilt { .. } => "rebuilt",
        Way::RolledBack { .. } => "rolled_back",
    }
}
