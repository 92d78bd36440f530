//! `papir load`: load test of a running server.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use papir_client::load::{
    KnownKey, LoadOptions, LoadReport, MAX_CLIENTS, MAX_SECONDS, Percentiles, Workload, load,
};
use papir_client::{Connection, PrefilterUse};
use serde_json::{Value, json};

use crate::arguments::connecting::{self, Connecting};
use crate::arguments::prefilter::PrefilterArguments;
use crate::arguments::trust::TrustArguments;
use crate::describe::{self, Lines, line, milliseconds, seconds};
use crate::failure::{Failure, Outcome};
use crate::progress::Bars;

/// Exit code if lookups failed.
const LOOKUPS_FAILED: u8 = 1;
/// Longest time for which a failed request is tried again.
const LONGEST_PATIENCE: Duration = Duration::from_secs(60);
/// Maximum number of keys in a file.
const MAX_KEYS: usize = 1_000_000;

/// Load-test a server: many clients at once, for a limited time.
///
/// Every lookup sends fresh queries, for random indices, for the keys of a file, or for random keys
/// that no database has. Answers are compared with the known values. A few single
/// lookups at the start measure the latency without load. The exit code is 0 if all lookups
/// succeeded, 1 if some failed, 2 on error.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The server, as http://host:port, or one of its databases, as
    /// http://host:port/v1/databases/name.
    url: String,
    /// Number of concurrent clients, each with its own connections.
    #[arg(long, value_name = "N", default_value_t = LoadOptions::default().clients as u64,
          value_parser = clap::value_parser!(u64).range(1..=MAX_CLIENTS as u64))]
    clients: u64,
    /// Duration in seconds.
    #[arg(long, value_name = "S", default_value_t = LoadOptions::default().seconds,
          value_parser = clap::value_parser!(u64).range(1..=MAX_SECONDS))]
    seconds: u64,
    #[command(flatten)]
    connecting: Connecting,
    #[command(flatten)]
    trust: TrustArguments,
    #[command(flatten)]
    prefilter: PrefilterArguments,
    /// Look up random record numbers; always done for a database without keys.
    #[arg(long, conflicts_with = "keys")]
    index: bool,
    /// Look up the keys of this CSV file: a header, then in each line a key and optionally its
    /// value.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Print one JSON object. Its `core_ms_per_lookup` is predicted by this machine's rates, as by
    /// `papir plan`; everything else is measured.
    #[arg(long)]
    json: bool,
    /// Query even if the scheme reveals the queries to the server.
    #[arg(long, visible_alias = "insecure-newton")]
    allow_not_private: bool,
}

const EXAMPLES: &str = "Examples:
  papir load http://127.0.0.1:7470
  papir load http://127.0.0.1:7470 --clients 64 --seconds 60 --keys words.csv --json";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut options = arguments
        .trust
        .add_to(arguments.connecting.options(arguments.allow_not_private)?)?;
    // The timeout is one of each lookup, and the load has a duration of its own.
    options.deadline = None;
    // Random keys are in no filter: by default the service is asked for all of them.
    options = arguments.prefilter.add_to(options, PrefilterUse::Ignore);
    options = connecting::quiet_for(arguments.json, options);
    // A lookup of a service that has stopped is tried again for as long as the load lasts.
    options.patience = Some(LONGEST_PATIENCE.min(Duration::from_secs(arguments.seconds)));

    let connection =
        Connection::open_with(&arguments.url, &options).map_err(connecting::explain)?;
    // Without keys of the caller, absent ones: their lookups cost the same, and reveal no values.
    let wanted = match &arguments.keys {
        Some(file) => Workload::Keys(keys(file)?),
        None if arguments.index || !connection.info().keyed => Workload::Indices,
        None => Workload::AbsentKeys,
    };

    let load_options = LoadOptions {
        clients: arguments.clients as usize,
        seconds: arguments.seconds,
    };
    // Before the load, whose figures it is compared with: rates that cannot be read end the command
    // early.
    let core_s = core_seconds(&connection)?;
    let report = load(&connection, &wanted, load_options, &Bars::new())?;

    let mut out = std::io::stdout();
    if arguments.json {
        writeln!(out, "{}", as_json(&report, core_s))?;
    } else {
        describe::print(&as_lines(&report), &mut out)?;
    }
    out.flush()?;

    // An exit code of its own: the test ran, and its result is that lookups failed.
    Ok(if report.failed() == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(LOOKUPS_FAILED)
    })
}

/// Predicted work of the server for a lookup, in seconds of one core of this machine while its
/// other cores are busy (papir plan --calibrate measures the rates). A client cannot measure it.
fn core_seconds(connection: &Connection) -> Result<f64, Failure> {
    let lookup = connection.lookup();
    let rates = papir_plan::rates_file::load(None)?.rates;
    Ok(lookup.describe().work.answer.core_seconds(&rates) * lookup.queries_of(1) as f64)
}

/// Reads keys from a CSV file, with their values if it has a second column.
fn keys(file: &Path) -> Result<Vec<KnownKey>, Failure> {
    let mut keys = Vec::new();
    papir_store::each_csv_row(file, |line, row| {
        // All clients share the keys in memory, and a load has fewer lookups than that.
        if keys.len() == MAX_KEYS {
            return Err(papir_store::Error::Line {
                file: file.display().to_string(),
                line,
                reason: format!("too many keys: expected at most {MAX_KEYS}"),
            });
        }

        // A second column has the expected values, which the load then compares.
        let mut fields = row.iter().map(|field| field.to_vec());
        let key = fields.next().unwrap_or_default();
        keys.push((key, fields.next()));
        Ok(())
    })?;

    if keys.is_empty() {
        return Err(Failure::at(
            file,
            "no keys: expected lines after the header",
        ));
    }

    Ok(keys)
}

fn as_lines(report: &LoadReport) -> Lines {
    let mut lines = vec![
        line(
            "clients",
            format!("{} for {}", report.clients, seconds(report.elapsed)),
        ),
        line(
            "lookups",
            format!("{}, {:.1} per second", report.lookups, report.throughput()),
        ),
        line("failed", report.failed()),
    ];
    for (kind, count) in &report.errors {
        lines.push(line(&format!("failed: {kind}"), count));
    }

    lines.extend([
        line("unloaded lookup", seconds(report.unloaded)),
        line("lookup", percentiles(&report.lookup)),
        line("round trip", percentiles(&report.round_trip)),
        line("client time", percentiles(&report.client)),
        line("p99 over unloaded", format!("{:.2} ×", report.slowdown())),
        line("continued on a new version", report.version_changes),
    ]);
    lines
}

/// Percentiles on one line.
fn percentiles(percentiles: &Percentiles) -> String {
    let Percentiles {
        p50,
        p95,
        p99,
        longest,
    } = *percentiles;

    format!(
        "p50 {}, p95 {}, p99 {}, longest {}",
        seconds(p50),
        seconds(p95),
        seconds(p99),
        seconds(longest)
    )
}

fn as_json(report: &LoadReport, core_s: f64) -> Value {
    json!({
        "clients": report.clients,
        "seconds": report.elapsed.as_secs_f64(),
        "lookups": report.lookups,
        "lookups_per_second": report.throughput(),
        "core_ms_per_lookup": 1e3 * core_s,
        "failed": report.failed(),
        "errors": report.errors,
        "unloaded_ms": milliseconds(report.unloaded),
        "lookup_ms": percentiles_ms(&report.lookup),
        "round_trip_ms": percentiles_ms(&report.round_trip),
        "client_ms": percentiles_ms(&report.client),
        "p99_over_unloaded": report.slowdown(),
        "went_on": report.version_changes,
    })
}

/// Percentiles in milliseconds, as JSON.
fn percentiles_ms(percentiles: &Percentiles) -> Value {
    json!({
        "p50": milliseconds(percentiles.p50),
        "p95": milliseconds(percentiles.p95),
        "p99": milliseconds(percentiles.p99),
        "longest": milliseconds(percentiles.longest),
    })
}
