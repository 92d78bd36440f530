//! `papir demo`: build, serve and get on this machine.

mod processes;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;

use crate::describe;
use crate::failure::{Failure, Outcome};
use papir_plan::units;
use processes::{DemoLookup, ServerProcess, look_up};

use super::build;

/// Build, serve and query a database of common passwords on this machine.
///
/// Builds a database from a file with the columns `password` and `rank`, serves it on loopback in a
/// separate process, and queries it from client processes. Prints the queries as the server saw
/// them, the results and the costs.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The data: a CSV file with the columns `password` and `rank`. By default the file in papir's
    /// repository, which exists only in a clone.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "demo/data/common-passwords.csv"
    )]
    data: PathBuf,
    /// The scheme; `default` chooses it as `papir build` does.
    #[arg(long, value_name = "NAME", default_value = papir::DEFAULT_SCHEME)]
    scheme: String,
}

const EXAMPLES: &str = "Examples:
  papir demo
  papir demo --data demo/data/common-passwords.csv --scheme simple";

/// The keys to look up, in order, all of one length: the first one twice, the last one absent.
const KEYS: [&str; 4] = ["dragon", "dragon", "monkey", "papir!"];

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    // Dropped at the end, also after an error: the demonstration leaves no file behind.
    let folder = tempfile::tempdir()?;
    let snapshot = folder.path().join("common-passwords.papir");
    let mut out = std::io::stdout();
    build_snapshot(arguments, &snapshot, &mut out)?;

    let mut server = ServerProcess::start(&snapshot)?;
    writeln!(
        out,
        "\nServed by process {} at {}",
        server.id(),
        server.url()
    )?;
    let mut lookups = Vec::new();
    for key in KEYS {
        lookups.push(look_up(&mut server, key)?);
    }
    // Before the figures: its last lines about queries must have been read.
    server.stop()?;

    print_observed_queries(&lookups, &mut out)?;
    print_values(&lookups, &mut out)?;
    print_costs(&lookups, &mut out)?;

    // Checked last: the output above shows what a failed check refers to.
    check(&lookups)?;
    Ok(ExitCode::SUCCESS)
}

fn build_snapshot(
    arguments: &Arguments,
    snapshot: &Path,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let start = Instant::now();
    let built = build::keyed_csv(
        &arguments.data,
        snapshot,
        "password",
        "rank",
        &arguments.scheme,
    )?;
    let seconds = units::seconds(start.elapsed().as_secs_f64());

    writeln!(out, "Built from {} in {seconds}", arguments.data.display())?;
    describe::print(&built, out)?;
    Ok(())
}

fn print_observed_queries(lookups: &[DemoLookup], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "\nWhat the server saw: bytes of queries, after a header common to all"
    )?;
    for (number, query) in (1..).zip(lookups.iter().flat_map(|one| &one.queries)) {
        writeln!(
            out,
            "  query {number}  {:>9} bytes  {}…",
            query.bytes, query.begins
        )?;
    }

    let lengths = if equal_lengths(lookups) { "yes" } else { "NO" };
    writeln!(out, "  The lengths are equal: {lengths}.")?;
    print_distances(lookups, out)
}

/// Prints the distance between the byte frequencies of consecutive queries for [`KEYS`].
fn print_distances(lookups: &[DemoLookup], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "  Distances between their byte frequencies, as chi-square"
    )?;
    writeln!(
        out,
        "  (two samples of one source: about f, the degrees of freedom, ± √(2 f)):"
    )?;

    let names = ["one key asked twice", "two keys", "present and absent"];
    // The first pair asks for one key twice: its distance is what chance alone makes.
    for (name, pair) in names.iter().zip(lookups.windows(2)) {
        let mut distance = 0.0;
        let mut freedom = 0.0;
        for (a, b) in pair[0].queries.iter().zip(&pair[1].queries) {
            let (statistic, degrees) = a.chi_square(b);
            distance += statistic;
            freedom += degrees;
        }

        writeln!(
            out,
            "    {name:<20} {distance:.0}, expected {freedom:.0} ± {:.0}",
            (2.0 * freedom).sqrt()
        )?;
    }

    writeln!(
        out,
        "  That the keys cannot be told apart rests on the scheme's security, not on this sample."
    )
}

fn equal_lengths(lookups: &[DemoLookup]) -> bool {
    lookups
        .windows(2)
        .all(|pair| lengths(&pair[0]) == lengths(&pair[1]))
}

/// The lengths of a lookup's queries.
fn lengths(lookup: &DemoLookup) -> Vec<u64> {
    lookup.queries.iter().map(|query| query.bytes).collect()
}

fn print_values(lookups: &[DemoLookup], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "\nWhat the clients got")?;
    for one in lookups {
        let value = match &one.value {
            Some(value) => format!("rank {value}"),
            None => "not on the list".to_owned(),
        };
        writeln!(out, "  {:<8} {value}", one.key)?;
    }
    Ok(())
}

fn print_costs(lookups: &[DemoLookup], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "\nWhat a client's first lookup costs (median of {})",
        lookups.len()
    )?;

    writeln!(
        out,
        "  public part      {} once, {}",
        size(lookups, |one| one.costs.public_bytes),
        time(lookups, |one| one.costs.fetch_ms)
    )?;
    writeln!(
        out,
        "  upload           {}, made in {}",
        size(lookups, |one| one.costs.upload_bytes),
        time(lookups, |one| one.costs.query_ms)
    )?;
    writeln!(
        out,
        "  answer           {}, loopback included",
        time(lookups, |one| one.costs.round_trip_ms)
    )?;
    writeln!(
        out,
        "  download         {}, decoded in {}",
        size(lookups, |one| one.costs.download_bytes),
        time(lookups, |one| one.costs.extract_ms)
    )
}

/// The median of a figure in bytes, with its unit.
fn size(lookups: &[DemoLookup], figure: fn(&DemoLookup) -> f64) -> String {
    units::bytes(median(lookups, figure) as u64)
}

/// The median of a figure in milliseconds, with its unit.
fn time(lookups: &[DemoLookup], figure: fn(&DemoLookup) -> f64) -> String {
    units::seconds(median(lookups, figure) / 1e3)
}

/// The median of a figure of the lookups.
fn median(lookups: &[DemoLookup], figure: fn(&DemoLookup) -> f64) -> f64 {
    let mut figures: Vec<f64> = lookups.iter().map(figure).collect();
    // The median: a lookup that the machine delayed does not count.
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// Fails unless the lookups gave the expected results.
fn check(lookups: &[DemoLookup]) -> Result<(), Failure> {
    let found = lookups.iter().map(|one| one.value.is_some());
    if !found.eq([true, true, true, false]) {
        return Err(Failure::new(
            "expected dragon and monkey to be found and papir! to be absent",
        ));
    }

    if !equal_lengths(lookups) {
        return Err(Failure::new(
            "queries for different keys have different lengths",
        ));
    }
    Ok(())
}
