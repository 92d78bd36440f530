//! `papir bench`: arguments and what is done with them.

use std::io::Write;

use clap::Parser;
use papir_core::{Goal, NoProgress, Progress};

use crate::measure::Plan;
use crate::records::Synthetic;
use crate::subject::{self, Choice};
use crate::{Error, Report, Result, report, size};

/// Measure schemes on a database of random records; every record that comes back is checked.
#[derive(Clone, Debug, Parser)]
pub struct Args {
    /// A scheme.
    scheme: String,
    /// Bytes of the database, as 256MiB or 1GiB.
    #[arg(long, default_value = "1GiB", value_parser = size::parse)]
    size: u64,
    /// Bytes of a record.
    #[arg(long, default_value = "64", value_parser = size::parse)]
    record_bytes: u64,
    /// Columns of the first dimension.
    #[arg(long)]
    dim0: Option<u64>,
    /// Threads.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Runs.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Goal.
    #[arg(long, default_value = "balanced")]
    goal: Goal,
    /// JSON.
    #[arg(long)]
    json: bool,
}

/// Runs.
///
/// # Errors
/// As the measurement.
pub fn run(args: Args) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let r = measure(&args, &NoProgress)?;
    let mut out = std::io::stdout();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&r)?)?;
    } else {
        report::write_table(&mut out, &[r])?;
    }
    Ok(())
}

fn measure(args: &Args, progress: &dyn Progress) -> Result<Report> {
    let records = Synthetic::new(args.size / args.record_bytes, args.record_bytes)?;
    let choice = args.dim0.map_or(Choice::Goal(args.goal), Choice::Columns);
    let plan =
        Plan { records: &records, expected: &records, choice, threads: args.threads, runs: args.runs };
    subject::by_name(&args.scheme)?.measure(&plan, progress).map_err(|e: Error| e)
}
