//! `papir attack`: recovers the indices of queries that are not private.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, ValueEnum};
use papir_research::newton::attack::{Evidence, challenge};
use papir_research::newton::key::SecretKey;
use papir_research::newton::{Registered, Variant};
use serde::Serialize;

use crate::failure::{Failure, Outcome};

/// Recover the index of a query from the query alone.
///
/// NewtonPIR's index is a root, modulo n, of a polynomial of degree 9 that anyone can compute from
/// the query. With --query, prints the index of a captured query. Otherwise generates queries and
/// recovers their indices; the command fails if an index is not recovered.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The scheme.
    scheme: BrokenScheme,
    /// The bytes of a query, with or without the envelope.
    #[arg(long, value_name = "FILE", conflicts_with = "trials")]
    query: Option<PathBuf>,
    /// Records in the database; every index is tried.
    #[arg(long, value_name = "N", default_value_t = 1 << 18, value_parser = clap::value_parser!(u64).range(1..1 << 30))]
    records: u64,
    /// Queries to generate and break.
    #[arg(long, value_name = "K", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    trials: u32,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum BrokenScheme {
    Newton,
}

const EXAMPLES: &str = "Examples:
  papir attack newton
  papir attack newton --records 262144 --trials 20 --json
  papir attack newton --query captured.bin --records 1000000";

/// Results of breaking a series of queries.
#[derive(Serialize)]
struct AttackReport {
    records: u64,
    queries: u32,
    recovered: u32,
    /// Mean time per query to compute the polynomial. The scan of the indices is timed separately.
    polynomial_ms: f64,
    scan_ms: f64,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let BrokenScheme::Newton = arguments.scheme;
    match &arguments.query {
        Some(file) => captured(arguments, file),
        None => generated(arguments),
    }
}

/// Prints the index of a captured query.
fn captured(arguments: &Arguments, file: &Path) -> Outcome {
    let bytes = std::fs::read(file).map_err(|error| Failure::at(file, error))?;
    // All indices that fit: a query does not say how many records its database has.
    let indices = Evidence::of(&bytes)?.indices(arguments.records)?;

    let out = &mut std::io::stdout();
    if arguments.json {
        writeln!(
            out,
            "{}",
            serde_json::json!({ "records": arguments.records, "indices": indices })
        )?;
    } else {
        for index in &indices {
            writeln!(out, "{index}")?;
        }
    }

    if indices.is_empty() {
        return Err(Failure::new(format!(
            "the query matches none of the indices below {}",
            arguments.records
        )));
    }
    Ok(ExitCode::SUCCESS)
}

/// Generates queries under one key, and recovers their indices without it.
fn generated(arguments: &Arguments) -> Outcome {
    let rng = &mut papir::system_rng();
    // One key for all trials, as a client has one: the attack sees the queries alone.
    let key = SecretKey::generate(Registered::MODULUS_BITS, rng)?;
    let mut recovered = 0;
    let mut polynomial = 0.0;
    let mut scan = 0.0;

    for _ in 0..arguments.trials {
        let (index, query) = challenge(&key, arguments.records, rng)?;

        let start = Instant::now();
        let evidence = Evidence::of(&query)?;
        polynomial += start.elapsed().as_secs_f64();

        let start = Instant::now();
        let found = evidence.indices(arguments.records)?;
        scan += start.elapsed().as_secs_f64();

        recovered += u32::from(found == [index]);
    }

    let trials = f64::from(arguments.trials);
    let report = AttackReport {
        records: arguments.records,
        queries: arguments.trials,
        recovered,
        polynomial_ms: 1e3 * polynomial / trials,
        scan_ms: 1e3 * scan / trials,
    };
    // Printed also if some failed: the figures show which part did not find them.
    report.write(arguments.json)?;

    let queries = report.queries;
    if recovered < queries {
        return Err(Failure::new(format!(
            "{recovered} of {queries} indices recovered: expected all"
        )));
    }
    Ok(ExitCode::SUCCESS)
}

impl AttackReport {
    fn write(&self, json: bool) -> Result<(), Failure> {
        let out = &mut std::io::stdout();
        if json {
            writeln!(out, "{}", serde_json::to_string(self)?)?;
            return Ok(());
        }

        let Self {
            records,
            queries,
            recovered,
            polynomial_ms,
            scan_ms,
        } = self;

        writeln!(
            out,
            "{recovered} of {queries} indices of {records} recovered from their queries alone"
        )?;
        writeln!(
            out,
            "each: {polynomial_ms:.2} ms for the polynomial, {scan_ms:.2} ms for all indices"
        )?;
        Ok(())
    }
}
