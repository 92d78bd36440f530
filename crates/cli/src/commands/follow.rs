//! `papir follow`: publishes the changes of a source as they arrive.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use papir_lookup::delta::MAX_DELTA_BYTES;
use papir_plan::units::parse_bytes;
use papir_server::Login;
use papir_store::{FollowOptions, OnBadRow, SlotOptions, TornRow, UpdateOptions};
use serde_json::json;

use super::update::explain;
use crate::arguments::changes::ChangeArguments;
use crate::arguments::duration::Span;
use crate::arguments::network::{Network, NetworkArguments};
use crate::arguments::sign::KeyArguments;
use crate::failure::{Failure, Outcome};
use crate::service::follow_loop::{Event, Following};

/// Publish the changes of a source as they arrive.
///
/// The source is a text file that grows, or standard input, with rows like those of `papir update`,
/// or the table of a publication in PostgreSQL, by a replication slot. Each new
/// version is a delta beside the prepared database. It states how far the source was followed:
/// after a restart, every change of a file or a slot is in exactly once. What a process took from
/// standard input and did not publish is lost with it. Run it on the machine of the database's
/// owner; `papir serve --watch` takes the versions, and `papir serve --follow` does both in one
/// process.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The source: a .csv, .tsv, .jsonl, .ndjson or .txt file that grows, or a text of another name
    /// with --format; - for standard input, or postgres://USER@HOST/DATABASE for a replication slot
    /// (with PGPASSWORD or PGPASSFILE).
    source: PathBuf,
    /// The prepared database to change.
    #[arg(long, value_name = "FILE")]
    publish: PathBuf,
    #[command(flatten)]
    columns: ChangeArguments,
    #[command(flatten)]
    pace: Pace,
    #[command(flatten)]
    key: KeyArguments,
    #[command(flatten)]
    network: NetworkArguments,
    /// Publish what is there, and exit; standard input is read to its end. The last row of a file
    /// without a line end may still be written: it is not published but reported.
    #[arg(long)]
    once: bool,
    /// Print one JSON object per line for each version, merge, skipped row and failed connection.
    #[arg(long)]
    json: bool,
}

/// Shortest time from one version to the next, unless the options say otherwise.
const EVERY: Duration = Duration::from_secs(2);

/// Options of publishing and merging versions, and of bad rows.
#[derive(Args, Clone, Debug)]
pub(crate) struct Pace {
    /// Shortest time from one version to the next [default: 2s].
    #[arg(long, value_name = "TIME")]
    every: Option<Span>,
    /// Merge the delta in the background once it has this share of its most bytes, in per cent.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
    merge_at: Option<u8>,
    /// The most that the delta may have, tags and lengths included [default: 4MiB].
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    delta_bytes: Option<u64>,
    /// Leave bad rows out and report them, instead of stopping.
    #[arg(long)]
    skip_all_bad: bool,
    /// The replication slot of a postgres:// source, made for the plugin pgoutput [default: papir].
    #[arg(long, value_name = "NAME")]
    slot: Option<String>,
    /// The publication of the one table that is followed [default: the slot's name].
    #[arg(long, value_name = "NAME")]
    publication: Option<String>,
}

impl Pace {
    /// An option that was given although no source is followed.
    pub(crate) fn given(&self) -> Option<&'static str> {
        // With --merge-at, --delta-bytes sets when other programs' deltas are merged.
        let sized = self.delta_bytes.is_some() && self.merge_at.is_none();
        let options = [
            ("--every", self.every.is_some()),
            ("--delta-bytes", sized),
            ("--skip-all-bad", self.skip_all_bad),
            ("--slot", self.slot.is_some()),
            ("--publication", self.publication.is_some()),
        ];

        options
            .into_iter()
            .find(|(_, given)| *given)
            .map(|(name, _)| name)
    }

    /// The bytes of changes from which a delta is merged; `None` if it never is.
    pub(crate) fn merged_from(&self) -> Option<u64> {
        let most = self.delta_bytes.unwrap_or(MAX_DELTA_BYTES);

        self.merge_at
            .map(|percent| most.saturating_mul(percent.into()).div_ceil(100))
    }

    /// Combines these options with an update's. Fails if they name a slot for another source.
    pub(crate) fn following(
        &self,
        update: UpdateOptions,
        once: bool,
        network: &Network,
    ) -> Result<Following, Failure> {
        let on_bad = if self.skip_all_bad {
            OnBadRow::Skip
        } else {
            OnBadRow::Stop
        };
        let slot = self.slot_of(&update.changes, network)?;

        Ok(Following {
            options: FollowOptions {
                on_bad,
                most: self.delta_bytes,
                slot,
                ..FollowOptions::new(update)
            },
            every: self.every.as_ref().map_or(EVERY, |every| every.0),
            merge_at: self.merged_from(),
            once,
        })
    }

    /// The slot of a source at an address of PostgreSQL.
    fn slot_of(&self, source: &Path, network: &Network) -> Result<Option<SlotOptions>, Failure> {
        let Some(address) = source.to_str().filter(|source| Login::is_address(source)) else {
            return match self.slot.as_ref().or(self.publication.as_ref()) {
                Some(name) => Err(Failure::new(format!(
                    "--slot or --publication {name} with {}: expected a source postgres://USER@HOST/DATABASE",
                    source.display()
                ))),
                None => Ok(None),
            };
        };

        let slot = self.slot.clone().unwrap_or_else(|| "papir".to_owned());
        let publication = self.publication.clone().unwrap_or_else(|| slot.clone());
        Ok(Some(SlotOptions::new(
            network.login(address)?,
            slot,
            publication,
        )))
    }
}

const EXAMPLES: &str = "Examples:
  papir follow changes.jsonl --publish words.papir --merge-at 75
  tail -F changes.csv | papir follow - --format csv --publish words.papir --every 500ms
  papir follow changes.jsonl --publish words.papir --once
  papir follow postgres://papir@db/shop --slot words --publish words.papir --merge-at 75
  papir follow changes.jsonl --publish words.papir --sign owner.key";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    // Insecure schemes are allowed here: the build allowed them, and serving needs permission
    // again.
    papir_research::register()?;
    arguments.columns.check_source(&arguments.source)?;

    let update = UpdateOptions {
        rates: papir_plan::rates_file::load(None)?.rates,
        sign: arguments.key.sign()?,
        ..arguments
            .columns
            .set(UpdateOptions::new(&arguments.publish, &arguments.source))
    };
    let network = arguments.network.setting();
    let following = arguments.pace.following(update, arguments.once, &network)?;

    // A signal ends the process: everything that it published is durable, and nothing else is lost.
    let mut printed = Ok(());
    let followed = following.run(&AtomicBool::new(false), &mut |event| {
        if printed.is_ok() {
            printed = print(&event, arguments.json);
        }
    });

    // The error of the source counts first: a closed stdout hides no failure.
    followed.map_err(explain)?;
    printed?;
    Ok(ExitCode::SUCCESS)
}

fn print(event: &Event<'_>, as_json: bool) -> std::io::Result<()> {
    let line = if as_json {
        json_line(event)
    } else {
        text_line(event)
    };

    let mut out = std::io::stdout();
    writeln!(out, "{line}")?;
    out.flush()
}

fn text_line(event: &Event<'_>) -> String {
    match event {
        Event::Published(report, time) => format!(
            "version {}: {} rows in {:.0} ms, {} changes since the last merge",
            report.metadata.version,
            report.rows,
            time.as_secs_f64() * 1e3,
            report.metadata.entries,
        ),
        Event::Skipped(row) => format!("skipped {}: {}", row.place, row.reason),
        Event::Trouble(reason) => format!("waiting: {reason}"),
        Event::Waiting(waiting) => format!("waiting: {}", describe(waiting)),
        Event::Merged(report, time) => {
            let mut line = format!(
                "merged into version {} in {:.1} s",
                report.metadata.version,
                time.as_secs_f64()
            );

            if let Some(seen) = report.shows_too_much() {
                line += &format!("; clients see {seen}");
            }
            line
        }
    }
}

/// The beginning of a row that waits for its end, in words.
fn describe(waiting: &TornRow) -> String {
    let TornRow { line, bytes } = waiting;
    format!("line {line}: {bytes} bytes of a row whose end has not arrived")
}

fn json_line(event: &Event<'_>) -> String {
    let object = match event {
        Event::Published(report, time) => json!({
            "event": "published",
            "version": report.metadata.version,
            "rows": report.rows,
            "entries": report.metadata.entries,
            "bytes": report.bytes,
            "most_bytes": report.most,
            "seconds": time.as_secs_f64(),
        }),
        Event::Skipped(row) => {
            json!({ "event": "skipped", "place": row.place, "reason": row.reason })
        }
        Event::Trouble(reason) => json!({ "event": "waiting", "reason": reason }),
        Event::Waiting(waiting) => json!({
            "event": "waiting",
            "reason": describe(waiting),
            "line": waiting.line,
            "bytes": waiting.bytes,
        }),
        Event::Merged(report, time) => json!({
            "event": "merged",
            "version": report.metadata.version,
            "seconds": time.as_secs_f64(),
            "clients_see": report.shows_too_much(),
        }),
    };

    object.to_string()
}
