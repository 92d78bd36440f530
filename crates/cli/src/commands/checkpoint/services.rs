//! Verification and comparison of what services show.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use papir_checkpoint::{Accepted, Log, Policy, Proof, VerifyingKey, hex};
use papir_client::{Connection, Options, ShownLog};

use super::files::stored;
use super::keys::now;
use crate::connecting::{self, Connecting};
use crate::describe::{self, Lines, line};
use crate::failure::{Failure, Outcome};
use crate::trust_arguments::TrustArguments;

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
    let shown = shown(&arguments.place, &arguments.connecting.options(true)?)?;
    write!(std::io::stdout(), "{}", shown.proof.note)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn verify(arguments: &Verify) -> Outcome {
    let options = arguments
        .trust
        .add_to(arguments.connecting.options(true)?)?;
    for url in &arguments.urls {
        let connection = Connection::open_with(url, &options).map_err(connecting::explain)?;
        let accepted = connection
            .checkpoint()
            .ok_or_else(|| Failure::new(format!("{url}: the database is not signed")))?;
        describe::print(&accepted_lines(url, accepted), &mut std::io::stdout())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn accepted_lines(url: &str, accepted: &Accepted) -> Lines {
    let delta = accepted
        .leaf
        .delta_root
        .as_ref()
        .map(|root| line("delta", hex(root)));
    let mut lines = vec![
        line("service", url),
        line("database", &accepted.leaf.database),
        describe::signed(&accepted.leaf),
        line(
            "age",
            format!("{} s", now().saturating_sub(accepted.leaf.time)),
        ),
        line("records", accepted.leaf.base),
        line("public part", hex(&accepted.leaf.public_part)),
    ];
    lines.extend(delta);
    lines.extend([
        line("owner", &accepted.owner),
        line(
            "cosignatures",
            format!("{} of known witnesses", accepted.cosignatures),
        ),
    ]);
    lines
}

pub(super) fn compare(arguments: &Compare) -> Outcome {
    let options = arguments
        .trust
        .add_to(arguments.connecting.options(true)?)?;
    let logs = arguments
        .places
        .iter()
        .map(|place| Ok((place.as_str(), shown(place, &options)?)));
    let logs = logs.collect::<Result<Vec<(&str, ShownLog)>, Failure>>()?;
    let [(_, first), ..] = &logs[..] else {
        return Err(Failure::new("compare needs two places"));
    };
    let owner = arguments.trust.owner().unwrap_or_else(|| first.log.owner());
    let database = &first.log.newest()?.database;
    let mut found = Vec::new();
    let mut out = std::io::stdout();
    for (place, shown) in &logs {
        match accept(shown, owner, database, &options) {
            Ok(accepted) => {
                let sequence = accepted.seen.sequence;
                let count = accepted.cosignatures;
                writeln!(
                    out,
                    "{place}: sequence {sequence}, {count} cosignature(s) of known witnesses"
                )?;
            }
            Err(error) => found.push(format!("{place}: {error}")),
        }
    }
    for (index, (place, shown)) in logs.iter().enumerate() {
        let others = &logs[index + 1..];
        found.extend(
            others
                .iter()
                .filter_map(|(other, with)| difference(place, &shown.log, other, &with.log)),
        );
    }
    found
        .iter()
        .try_for_each(|difference| writeln!(out, "{difference}"))?;
    Ok(if found.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(DIFFERENT)
    })
}

/// Accepts or refuses what one place shows. A service must show its clients a version of its log.
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
    let of_log = policy.accept(&shown.log.proof()?)?;
    let accepted = policy.accept(&shown.proof)?;
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
fn difference(one: &str, first: &Log, other: &str, second: &Log) -> Option<String> {
    let sequence = first.first_difference(second)?;
    let leaf = |log: &Log| {
        let leaf = usize::try_from(sequence)
            .ok()
            .and_then(|sequence| log.leaves().get(sequence).cloned());
        leaf.map_or_else(String::new, |leaf| {
            let time = describe::time(leaf.time);
            format!(
                "{time}, {}, public part {}",
                leaf.base,
                hex(&leaf.public_part)
            )
        })
    };
    Some(format!(
        "different under sequence {sequence}: {one} shows {}; {other} shows {}",
        leaf(first),
        leaf(second)
    ))
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
