//! `papir demo`: build, serve and get on this machine, in three processes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;

use crate::demo_parts::{DemoLookup, ServerProcess, look_up};
use crate::describe;
use crate::failure::{Failure, Outcome};
use papir_plan::units;

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
    /// The scheme.
    #[arg(long, value_name = "NAME", default_value = papir::DEFAULT_SCHEME)]
    scheme: String,
}

const EXAMPLES: &str = "Examples:
  papir demo
  papir demo --data demo/data/common-passwords.csv --scheme simple";

/// The keys to look up, in order, all of one length: the first one twice, the last one absent.
const KEYS: [&str; 4] = ["dragon", "dragon", "monkey", "papir!"];

pub(crate) fn run(arguments: &Arguments) -> Outcome {
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
    let lookups = KEYS
        .iter()
        .map(|key| look_up(&mut server, key))
        .collect::<Result<Vec<_>, _>>()?;
    server.stop()?;
    print_observed_queries(&lookups, &mut out)?;
    print_values(&lookups, &mut out)?;
    print_costs(&lookups, &mut out)?;
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
        ("password", "rank"),
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
    for (name, pair) in names.iter().zip(lookups.windows(2)) {
        let distances = pair[0]
            .queries
            .iter()
            .zip(&pair[1].queries)
            .map(|(a, b)| a.chi_square(b));
        let (distance, freedom) =
            distances.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
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
    let lengths = |one: &DemoLookup| {
        one.queries
            .iter()
            .map(|query| query.bytes)
            .collect::<Vec<_>>()
    };
    lookups
        .windows(2)
        .all(|pair| lengths(&pair[0]) == lengths(&pair[1]))
}

fn print_values(lookups: &[DemoLookup], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "\nWhat the clients got")?;
    lookups.iter().try_for_each(|one| {
        let value = one
            .value
            .as_ref()
            .map_or("not on the list".to_owned(), |value| {
                format!("rank {value}")
            });
        writeln!(out, "  {:<8} {value}", one.key)
    })
}

fn print_costs(lookups: &[DemoLookup], out: &mut dyn Write) -> std::io::Result<()> {
    let median = |figure: fn(&DemoLookup) -> f64| {
        let mut figures: Vec<f64> = lookups.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures.get(figures.len() / 2).copied().unwrap_or_default()
    };
    let size = |figure| units::bytes(median(figure) as u64);
    let time = |figure| units::seconds(median(figure) / 1e3);
    writeln!(
        out,
        "\nWhat a client's first lookup costs (median of {})",
        lookups.len()
    )?;
    writeln!(
        out,
        "  public part      {} once, {}",
        size(|one| one.costs.public_bytes),
        time(|one| one.costs.fetch_ms)
    )?;
    writeln!(
        out,
        "  upload           {}, made in {}",
        size(|one| one.costs.upload_bytes),
        time(|one| one.costs.query_ms)
    )?;
    writeln!(
        out,
        "  answer           {}, loopback included",
        time(|one| one.costs.round_trip_ms)
    )?;
    writeln!(
        out,
        "  download         {}, decoded in {}",
        size(|one| one.costs.download_bytes),
        time(|one| one.costs.extract_ms)
    )
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
