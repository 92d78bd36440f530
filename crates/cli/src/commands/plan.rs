//! `papir plan`: recommends a scheme and predicts its cost.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use papir_bench::calibrate::{Config, calibrate};
use papir_bench::check;
use papir_core::cost::Rates;
use papir_core::{FailureBound, Shape};
use papir_plan::rates_file as rates;
use papir_plan::rates_file::LoadedRates;
use serde_json::json;

use crate::bars::Bars;
use crate::describe::{self, line};
use crate::failure::{Failure, Outcome};
use crate::keyed::estimate;
use crate::plan_table;
use papir_plan::planner::{self, Choice, Demand};
use papir_plan::units::{self, parse_bytes};

/// Predict the cost of a database before building it.
///
/// Compares the parameters of every private scheme by bytes on the wire, server time, client time,
/// memory and preparation time. The best comes first: it has the least time per lookup over the
/// given connection, with the client's one-time download spread over --lookups. Times are operation
/// counts multiplied by a machine's rates, which --calibrate measures. Sizes are exact, except
/// estimates with --keyed.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The number of records, or of keys with --keyed.
    #[arg(long, value_name = "N", required_unless_present_any = ["calibrate", "check"])]
    records: Option<u64>,
    /// Bytes per record, or per value with --keyed.
    #[arg(long, value_name = "BYTES", conflicts_with = "record_bits")]
    record_bytes: Option<u64>,
    /// Bits per record, if not a whole number of bytes.
    #[arg(long, value_name = "BITS", conflicts_with = "keyed")]
    record_bits: Option<u64>,
    /// Records are looked up by key; sizes are then estimates for the keyed table.
    #[arg(long)]
    keyed: bool,
    /// Speed of the client's connection to the server: 10Mbit, 1.5Gbit or 500kbit per second.
    #[arg(long, value_name = "SPEED", default_value = "10Mbit", value_parser = speed)]
    uplink: f64,
    /// Speed of the connection from the server to the client.
    #[arg(long, value_name = "SPEED", default_value = "10Mbit", value_parser = speed)]
    downlink: f64,
    /// The server's memory, as in 16GiB or 512MiB. Candidates that need more are left out.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    memory: Option<u64>,
    /// The largest allowed probability that an answer does not decode, 2^-40 to 2^-128. Schemes
    /// that cannot keep it are left out.
    #[arg(long, value_name = "2^-BITS", default_value_t = FailureBound::DEFAULT)]
    failure: FailureBound,
    /// Lookups per second of all clients together, to compute the number of cores needed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    clients: Option<u64>,
    /// Lookups per client over which the one-time download is spread.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    lookups: u64,
    /// Threads that answer one query [default: the threads of the measured machine].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Option<u64>,
    /// File with the machine's rates, instead of the user's rates file.
    #[arg(long, value_name = "FILE")]
    rates: Option<PathBuf>,
    /// Measure this machine first, and store its rates.
    #[arg(long)]
    calibrate: bool,
    /// Prepare and query five databases, and print predicted and measured costs.
    #[arg(long, conflicts_with = "records")]
    check: bool,
    /// Show all parameters, not only the best of each scheme.
    #[arg(long)]
    all: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  A service of 20 million breached passwords, each with a count, 50 lookups per second:
    papir plan --keyed --records 20000000 --record-bytes 4 --memory 16GiB --clients 50
  A blocklist of 2 million addresses, queried by phones on a slow uplink:
    papir plan --keyed --records 2000000 --record-bytes 1 --uplink 2Mbit --downlink 20Mbit
  A wallet that makes 100 lookups among 10 million notes of 128 bytes:
    papir plan --records 10000000 --record-bytes 128 --lookups 100
  The same with answers that fail with probability below 2^-128:
    papir plan --records 10000000 --record-bytes 128 --lookups 100 --failure 2^-128
  Measure this machine's rates and check predictions against measurements:
    papir plan --calibrate
    papir plan --check";

/// Rows per scheme in the table.
const SHOWN: usize = 4;
/// Timed queries of each database of --check.
const CHECK_RUNS: usize = 9;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut out = std::io::stdout();
    if arguments.calibrate {
        measure(arguments, &mut out)?;
    }
    if arguments.check {
        check_predictions(arguments, &mut out)?;
    }
    if let Some(records) = arguments.records {
        plan(arguments, records, &mut out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Parses a speed such as `10Mbit` into bits per second.
fn speed(text: &str) -> Result<f64, String> {
    const UNITS: [(&str, f64); 4] = [("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9), ("bit", 1.0)];
    let unit = UNITS.iter().find_map(|(unit, bits)| Some((text.strip_suffix(unit)?, bits)));
    let bits = unit.and_then(|(digits, bits)| Some(digits.trim_end().parse::<f64>().ok()? * bits));
    let sensible = bits.filter(|bits| (1.0..=1e15).contains(bits));
    sensible.ok_or_else(|| "expected a speed above 0, such as 500kbit, 10Mbit or 1Gbit".to_owned())
}

/// Measures this machine and writes its rates to a file.
fn measure(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let path = arguments.rates.clone().or_else(rates::default_path);
    let path = path.ok_or_else(|| Failure::new("no folder to store rates in: give --rates FILE"))?;
    let threads = std::thread::available_parallelism()?.get();
    let measured = calibrate(Config::WHOLE, threads, &Bars::new())?;
    rates::write(&path, &measured)?;
    if !arguments.json {
        describe::print(&rate_lines(&measured), out)?;
        writeln!(out, "Written to {}", path.display())?;
    } else if arguments.records.is_none() && !arguments.check {
        writeln!(out, "{}", std::fs::read_to_string(&path)?.trim_end())?;
    }
    Ok(())
}

/// One line per operation: its rate on one thread and on all threads.
fn rate_lines(rates: &Rates) -> describe::Lines {
    let value = |op: papir_core::cost::Operation, seconds: f64| match op.streams() {
        true => format!("{:.1} GB/s", 1e-9 / seconds),
        false => nanoseconds(seconds),
    };
    let both = |op| {
        let (one, all) = (value(op, rates.one(op)), value(op, rates.all(op)));
        line(op.name(), format!("{one} on one thread, {all} on {}", rates.threads()))
    };
    papir_core::cost::Operation::ALL.map(both).to_vec()
}

fn nanoseconds(seconds: f64) -> String {
    if seconds < 1e-6 { format!("{:.2} ns", seconds * 1e9) } else { units::seconds(seconds) }
}

fn check_predictions(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let loaded = rates::load(arguments.rates.as_deref())?;
    let checked = check::check(&check::FIVE, &loaded.rates, CHECK_RUNS, &Bars::new())?;
    if arguments.json {
        let object = json!({ "rates": loaded.origin, "checked": checked });
        writeln!(out, "{object}")?;
        return Ok(());
    }
    writeln!(out, "Predicted / measured on one thread; rates {}", loaded.description)?;
    Ok(check::write_table(out, &checked)?)
}

fn plan(arguments: &Arguments, records: u64, out: &mut dyn Write) -> Result<(), Failure> {
    let loaded = rates::load(arguments.rates.as_deref())?;
    let demand = demand(arguments, records, &loaded.rates)?;
    let choice = planner::choose(&demand, &loaded.rates)?;
    if arguments.json {
        let object = as_json(arguments, &demand, &loaded, &choice);
        writeln!(out, "{object}")?;
        return Ok(());
    }
    describe::print(&headline(arguments, records, &demand, &loaded), out)?;
    writeln!(out)?;
    plan_table::write(out, &choice, (!arguments.all).then_some(SHOWN))?;
    writeln!(out, "\nRecommended: {}", choice.reason())?;
    if let Some(clients) = arguments.clients {
        writeln!(out, "{}", cores(&choice, clients))?;
    }
    Ok(())
}

fn demand(arguments: &Arguments, records: u64, rates: &Rates) -> Result<Demand, Failure> {
    let (shape, extra_bytes) = shape(arguments, records)?;
    Ok(Demand {
        failure: arguments.failure,
        extra_bytes,
        connection: (arguments.uplink, arguments.downlink),
        memory: arguments.memory,
        threads: arguments.threads.map_or(rates.threads(), |threads| threads as usize),
        lookups: arguments.lookups,
        ..Demand::new(shape, rates)
    })
}

/// The shape of the scheme's database, and the bytes of the key layout.
fn shape(arguments: &Arguments, records: u64) -> Result<(Shape, u64), Failure> {
    match (arguments.record_bytes, arguments.record_bits) {
        (Some(bytes), _) if arguments.keyed => {
            let table = estimate(records, bytes)?;
            Ok((Shape::of_bytes(table.records, table.record_bytes)?, table.layout_bytes))
        }
        (Some(bytes), _) => Ok((Shape::of_bytes(records, bytes)?, 0)),
        (None, Some(bits)) => Ok((Shape::new(records, bits)?, 0)),
        (None, None) => Err(Failure::new("missing record length: give --record-bytes or --record-bits")),
    }
}

/// The lines above the table: the requirements and the rates.
fn headline(arguments: &Arguments, records: u64, demand: &Demand, loaded: &LoadedRates) -> describe::Lines {
    let shape = demand.shape;
    let total = units::bytes(shape.total_bytes());
    let stored = format!("{} records of {}, {total}", shape.records(), units::bits(shape.record_bits()));
    let database = match arguments.keyed {
        true => format!("{records} keys: about {stored}, {} of layout", units::bytes(demand.extra_bytes)),
        false => stored,
    };
    let (up, down) = (mbit(demand.connection.0), mbit(demand.connection.1));
    vec![
        line("database", database),
        line("connection", format!("{up} up, {down} down; {} lookup(s) per client", demand.lookups)),
        line("server", format!("{} thread(s) per answer", demand.threads)),
        line("failure", format!("at most {} per lookup", demand.failure)),
        line("rates", &loaded.description),
    ]
}

fn mbit(bits: f64) -> String {
    format!("{} Mbit/s", bits / 1e6)
}

fn cores(choice: &Choice, clients: u64) -> String {
    let (cores, each) = (choice.best.cores(clients as f64), units::seconds(choice.best.core_s));
    format!(
        "{clients} lookups per second keep {cores} core(s) busy: {each} of one core per lookup, without batching."
    )
}

fn as_json(
    arguments: &Arguments,
    demand: &Demand,
    loaded: &LoadedRates,
    choice: &Choice,
) -> serde_json::Value {
    json!({
        "records": demand.shape.records(),
        "record_bits": demand.shape.record_bits(),
        "keyed": arguments.keyed,
        "uplink_bits": demand.connection.0,
        "downlink_bits": demand.connection.1,
        "threads": demand.threads,
        "lookups": demand.lookups,
        "memory": demand.memory,
        "failure": demand.failure.to_string(),
        "rates": loaded.origin,
        "offers": choice.offers().collect::<Vec<_>>(),
        "left_out": choice.left_out,
        "recommended": choice.best.scheme,
        "reason": choice.reason(),
        "cores": arguments.clients.map(|clients| choice.best.cores(clients as f64)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use papir_plan::planner::DEFAULT_SPEED;

    #[test]
    fn speeds_parse() {
        for (text, bits) in [("10Mbit", DEFAULT_SPEED), ("1.5Gbit", 1.5e9), ("500 kbit", 5e5), ("9bit", 9.0)]
        {
            assert!((speed(text).unwrap_or_default() - bits).abs() < 1e-6, "{text}");
        }
        for text in ["", "10", "Mbit", "-1Mbit", "0Mbit", "10MB", "NaNMbit", "infGbit"] {
            assert!(speed(text).is_err(), "{text}");
        }
    }
}
