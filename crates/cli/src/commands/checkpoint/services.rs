//! Verification and comparison of services' checkpoints.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use papir_checkpoint::{Accepted, Log, Policy, Proof, VerifyingKey, hex};
use papir_client::{Connection, Options, ShownLog};

use super::files::stored;
use super::keys::now;
use crate::arguments::connecting::{self, Connecting};
use crate::arguments::trust::TrustArguments;
use crate::describe::{self, Lines, line};
use crate::failure::{Failure, Outcome};

/// Exit code if places show different things.
const DIFFERENT: u8 = 1;

/// Print the signed checkpoint of a service or of a prepared file.
#[derive(Args)]
pub(super) struct Show {
    /// The URL of a server or of one of its databases, or a prepared file.
    #[arg(value_name = "URL|FILE")]
    place: String,
    #[command(flatten)]
    connecting: Connecting,
}

/// Verify what a service shows, as a client does before its first query.
///
/// Fetches the checkpoint and the public part, and verifies signature, log, age and cosignatures.
/// Nothing is pinned. Without --owner-pub, the key that the service names is trusted.
#[derive(Args)]
pub(super) struct Verify {
    /// The URLs of servers or of databases.
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    #[command(flatten)]
    connecting: Connecting,
    #[command(flatten)]
    trust: TrustArguments,
}

/// Find services that show different versions under one sequence.
///
/// Compares the logs of services and prepared files, sequence by sequence. One may be behind the
/// other, but both must show the same versions up to there. The exit code is 0 if they do, 1 if
/// they differ or if a checkpoint is refused, 2 on error.
#[derive(Args)]
pub(super) struct Compare {
    /// The URLs of servers or of databases, or prepared files; at least two.
    #[arg(value_name = "URL|FILE", num_args = 2.., required = true)]
    places: Vec<String>,
    #[command(flatten)]
    connecting: Connecting,
    #[command(flatten)]
    trust: TrustArguments,
}

pub(super) fn show(arguments: &Show) -> Outcome {
    // Shown as it is, also of a scheme that is not private: nothing is looked up.
    let shown = shown(&arguments.place, &arguments.connecting.options(true)?)?;
    write!(std::io::stdout(), "{}", shown.proof.note)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn verify(arguments: &Verify) -> Outcome {
    let options = arguments
        .trust
        .add_to(arguments.connecting.options(true)?)?;

    for url in &arguments.urls {
        // Opening verifies the signature and the public part that it names.
        let connection = Connection::open_with(url, &options).map_err(connecting::explain)?;
        let Some(accepted) = connection.checkpoint() else {
            return Err(Failure::new(format!("{url}: the database is not signed")));
        };
        describe::print(&accepted_lines(url, accepted), &mut std::io::stdout())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn accepted_lines(url: &str, accepted: &Accepted) -> Lines {
    let leaf = &accepted.leaf;
    let age = now().saturating_sub(leaf.time);

    let mut lines = vec![
        line("service", url),
        line("database", &leaf.database),
        describe::signed(leaf),
        line("age", format!("{age} s")),
        line("records", leaf.base),
        line("public part", hex(&leaf.public_part)),
    ];
    if let Some(root) = &leaf.delta_root {
        lines.push(line("delta", hex(root)));
    }
    if let Some(commitment) = &leaf.gateways {
        lines.push(line("gateway keys", hex(commitment)));
    }
    lines.extend([
        line("owner", &accepted.owner),
        line(
            "cosignatures",
            format!("{} of known witnesses", accepted.cosignatures),
        ),
    ]);
    lines
}

/// A place and its log.
struct Compared<'a> {
    place: &'a str,
    shown: ShownLog,
}

pub(super) fn compare(arguments: &Compare) -> Outcome {
    let options = arguments
        .trust
        .add_to(arguments.connecting.options(true)?)?;

    let mut compared = Vec::new();
    // All are fetched before one is judged: the shorter the time between, the fewer new versions.
    for place in &arguments.places {
        compared.push(Compared {
            place,
            shown: shown(place, &options)?,
        });
    }
    let [first, ..] = &compared[..] else {
        return Err(Failure::new("compare needs two places"));
    };

    // Without --owner-pub, the first place is the standard for the others.
    let owner = arguments
        .trust
        .owner()
        .unwrap_or_else(|| first.shown.log.owner());
    let database = &first.shown.log.newest()?.database;

    let mut out = std::io::stdout();
    let mut found = Vec::new();
    for Compared { place, shown } in &compared {
        match accept(shown, owner, database, &options) {
            Ok(accepted) => writeln!(out, "{place}: {}", head(&accepted))?,
            // Collected: the other places may show who of them is right.
            Err(error) => found.push(format!("{place}: {error}")),
        }
    }
    for (index, one) in compared.iter().enumerate() {
        // Each pair once. Logs that fit the first place may still differ from one another after its
        // end.
        let others = &compared[index + 1..];
        found.extend(others.iter().filter_map(|other| difference(one, other)));
    }

    for difference in &found {
        writeln!(out, "{difference}")?;
    }
    Ok(if found.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(DIFFERENT)
    })
}

/// Describes the newest version of an accepted log.
fn head(accepted: &Accepted) -> String {
    format!(
        "sequence {}, {} cosignature(s) of known witnesses",
        accepted.seen.sequence, accepted.cosignatures
    )
}

/// Accepts or refuses the checkpoint of one place. The version that a service shows to its clients
/// must be in its log.
fn accept(
    shown: &ShownLog,
    owner: &VerifyingKey,
    database: &str,
    options: &Options,
) -> papir_checkpoint::Result<Accepted> {
    let settings = &options.checkpoint;
    let policy = Policy {
        max_age: settings.max_age.map(|age| age.as_secs()),
        witnesses: &settings.witnesses,
        cosignatures: settings.cosignatures,
        ..Policy::new(owner, database, now())
    };

    // Both must verify: a service could show a good log beside a proof of another version.
    let of_log = policy.accept(&shown.log.proof()?)?;
    let accepted = policy.accept(&shown.proof)?;
    accepted.seen.require(settings.sequence)?;

    // The log was fetched later: it may be longer, but it must contain the version.
    let sequence = accepted.seen.sequence;
    let in_log = usize::try_from(sequence)
        .ok()
        .and_then(|sequence| shown.log.leaves().get(sequence));
    match in_log {
        Some(leaf) if *leaf == accepted.leaf => Ok(of_log),
        _ => Err(papir_checkpoint::Error::Equivocation { sequence }),
    }
}

/// Describes the first difference between two logs.
fn difference(one: &Compared<'_>, other: &Compared<'_>) -> Option<String> {
    let sequence = one.shown.log.first_difference(&other.shown.log)?;

    Some(format!(
        "different under sequence {sequence}: {} shows {}; {} shows {}",
        one.place,
        described(&one.shown.log, sequence),
        other.place,
        described(&other.shown.log, sequence)
    ))
}

/// Describes the version of a log with this sequence. Empty if the log is shorter.
fn described(log: &Log, sequence: u64) -> String {
    let leaf = usize::try_from(sequence)
        .ok()
        .and_then(|sequence| log.leaves().get(sequence));

    match leaf {
        Some(leaf) => format!(
            "{}, {}, public part {}",
            describe::time(leaf.time),
            leaf.base,
            hex(&leaf.public_part)
        ),
        None => String::new(),
    }
}

/// The log at an address, or of a prepared file.
fn shown(place: &str, options: &Options) -> Result<ShownLog, Failure> {
    if connecting::is_url(place) {
        return papir_client::fetch_log(place, options).map_err(connecting::explain);
    }
    let log = stored(Path::new(place))?;
    let proof: Proof = log.proof()?;
    Ok(ShownLog { proof, log })
}
