//! `papir plan`: recommends a scheme and predicts its cost.

mod source;
mod table;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use papir_core::cost::{Operation, Rates};
use papir_core::{FailureBound, Shape};
use papir_cuda::Cuda;
use papir_lookup::prefilter::expected_bytes;
use papir_measure::calibrate::{CalibrationConfig, calibrate};
use papir_measure::device_rates::DeviceRatesConfig;
use papir_measure::{check, device_rates};
use papir_plan::rates_file as rates;
use papir_plan::rates_file::{LoadedRates, NamedDevice};
use serde_json::json;

use crate::describe::{self, line};
use crate::failure::{Failure, Outcome};
use crate::progress::Bars;
use crate::relayed_sizes;
use papir_plan::database::Database;
use papir_plan::planner::{Demand, RankedOffers};
use papir_plan::report::Plan;
use papir_plan::shards::Machines;
use papir_plan::units::{self, parse_bytes};

/// Predict the cost of a database before building it.
///
/// Compares the parameters of private schemes by bytes on the wire, server time, client time,
/// memory and preparation time; schemes that it does not weigh are listed with the reason. The best
/// comes first: it has the least time per lookup over the given connection, with the client's
/// one-time download spread over --lookups. Times are operation counts multiplied by a machine's
/// rates, which --calibrate measures. Sizes are exact, except estimates with --keyed. The line
/// `Built without --scheme` has the choice of `papir build`, the same on every machine.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A source of `papir build`: its records are counted and its keys arranged, so that the plan
    /// is for the database that a build would prepare.
    #[arg(value_name = "SOURCE", conflicts_with_all = ["records", "keyed", "record_bits"])]
    source: Option<PathBuf>,
    #[command(flatten)]
    columns: source::Columns,
    /// The number of records, or of keys with --keyed.
    #[arg(long, value_name = "N", required_unless_present_any = ["source", "calibrate", "check"])]
    records: Option<u64>,
    /// Bytes per record, or per value with --keyed; of a raw SOURCE, the length of its records.
    #[arg(long, value_name = "BYTES", conflicts_with = "record_bits")]
    record_bytes: Option<u64>,
    /// Bits per record, if not a whole number of bytes.
    #[arg(long, value_name = "BITS", conflicts_with = "keyed")]
    record_bits: Option<u64>,
    /// Records are looked up by key; sizes are then estimates for the keyed table.
    #[arg(long)]
    keyed: bool,
    /// Show the length of a filter of the keys with these bits (papir build --prefilter).
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u8).range(4..=24))]
    prefilter: Option<u8>,
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
    /// Plan for batches of up to K lookups (papir build --batch): all costs are those of a batch.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(2..=1 << 20))]
    batch: Option<u64>,
    /// Lookups per second of all clients together. Answers are then planned in groups, as a busy
    /// server gives them, and the number of cores and the bandwidth are computed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    clients: Option<u64>,
    /// Plan for this many changed keys or records per hour, published as deltas (papir update
    /// --delta, papir follow) and merged.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    changes_per_hour: Option<u64>,
    /// Plan for a database on this many machines, each with --threads threads and --memory.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..=1 << 20),
        conflicts_with_all = ["batch", "clients", "changes_per_hour"]
    )]
    shards: Option<u64>,
    /// Speed of the network between these machines.
    #[arg(long, value_name = "SPEED", default_value = "10Gbit", value_parser = speed, requires = "shards")]
    network: f64,
    /// Lookups per client over which the one-time download is spread.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    lookups: u64,
    /// Threads that answer one query [default: the threads of the measured machine].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Option<u64>,
    /// File with the machine's rates, instead of the user's rates file.
    #[arg(long, value_name = "FILE")]
    rates: Option<PathBuf>,
    /// Measure this machine first, and store its rates; with --device, those of the device too.
    #[arg(long)]
    calibrate: bool,
    /// Plan for answers by this GPU, as in cuda:0, which --calibrate has measured.
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["threads", "shards", "check"])]
    device: Option<String>,
    /// Prepare and query five databases, and print predicted and measured costs.
    #[arg(long, conflicts_with_all = ["records", "source"])]
    check: bool,
    /// Show all parameters, not only the best of each scheme.
    #[arg(long)]
    all: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  The keys and values of a file, the first column being the key:
    papir plan words.csv
    papir plan people.jsonl --key id --value name,city --batch 64 --clients 1000
  A service of 20 million breached passwords, each with a count, 50 lookups per second:
    papir plan --keyed --records 20000000 --record-bytes 4 --memory 16GiB --clients 50
  A blocklist of 2 million addresses, queried by phones on a slow uplink:
    papir plan --keyed --records 2000000 --record-bytes 1 --uplink 2Mbit --downlink 20Mbit
  State of 4 GiB that changes every 12 seconds:
    papir plan --keyed --records 60000000 --record-bytes 64 --changes-per-hour 1500000
  State of 100 GiB on 8 machines of 16 cores:
    papir plan --records 1677721600 --record-bytes 64 --shards 8 --threads 16 --memory 64GiB
  A wallet that makes 100 lookups among 10 million notes of 128 bytes:
    papir plan --records 10000000 --record-bytes 128 --lookups 100
  The same with answers that fail with probability below 2^-128:
    papir plan --records 10000000 --record-bytes 128 --lookups 100 --failure 2^-128
  Answers by a GPU, measured once:
    papir plan --calibrate --device cuda:0 --records 134217728 --record-bytes 64
  Measure this machine's rates and check predictions against measurements:
    papir plan --calibrate
    papir plan --check";

/// Rows per scheme in the table.
const SHOWN: usize = 4;
/// Timed queries of each database of --check.
const CHECK_RUNS: usize = 9;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut out = std::io::stdout();

    // Measured first: the check and the plan use the new rates.
    if arguments.calibrate {
        measure(arguments, &mut out)?;
    }
    if arguments.check {
        check_predictions(arguments, &mut out)?;
    }
    if let Some((database, origin)) = database(arguments)? {
        plan(arguments, &database, origin, &mut out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Parses a speed such as `10Mbit` into bits per second.
fn speed(text: &str) -> Result<f64, String> {
    bits_per_second(text)
        // Also refuses NaN, which no comparison below would notice, and infinity.
        .filter(|bits| (1.0..=1e15).contains(bits))
        .ok_or_else(|| "expected a speed above 0, such as 500kbit, 10Mbit or 1Gbit".to_owned())
}

/// Multiplies a number by the unit after it.
fn bits_per_second(text: &str) -> Option<f64> {
    // `bit` is last: the other units end in it, too.
    const UNITS: [(&str, f64); 4] = [("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9), ("bit", 1.0)];

    let (unit, bits) = UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    let digits = text.strip_suffix(unit)?;
    Some(digits.trim_end().parse::<f64>().ok()? * bits)
}

/// Measures this machine and writes its rates to a file.
fn measure(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let Some(path) = arguments.rates.clone().or_else(rates::default_path) else {
        return Err(Failure::new(
            "no folder to store rates in: give --rates FILE",
        ));
    };

    // All that this process may use: a container may have fewer than the machine.
    let threads = std::thread::available_parallelism()?.get();
    let measured = calibrate(CalibrationConfig::WHOLE, threads, &Bars::new())?;
    let device = match &arguments.device {
        Some(name) => Some(measure_device(name, &measured)?),
        // A device that was measured before keeps its rates.
        None => rates::read(&path).ok().and_then(|(_, device)| device),
    };

    // Stored before it is printed: a reader that closes the pipe must not cost minutes of
    // measuring.
    rates::write(&path, &measured, device.as_ref())?;
    if !arguments.json {
        describe::print(&rate_lines(&measured, device.as_ref()), out)?;
        writeln!(out, "Written to {}", path.display())?;
    // With more to print, stdout would hold two JSON documents in a row.
    } else if arguments.records.is_none() && arguments.source.is_none() && !arguments.check {
        writeln!(out, "{}", std::fs::read_to_string(&path)?.trim_end())?;
    }
    Ok(())
}

/// Measures a GPU.
fn measure_device(name: &str, measured: &Rates) -> Result<NamedDevice, Failure> {
    let gpu = Cuda::by_name(
        name,
        // A device that fails while it is measured makes the rates worthless, and says so at once.
        Box::new(|failure| eprintln!("papir: {}", failure.error)),
    )?;
    let config = DeviceRatesConfig::WHOLE;

    Ok(device_rates::calibrate(
        config,
        &gpu,
        measured,
        &Bars::new(),
    )?)
}

/// One line per operation: its rate on one thread, on all threads, and by a device.
fn rate_lines(rates: &Rates, device: Option<&NamedDevice>) -> describe::Lines {
    Operation::ALL
        .map(|op| rate_line(op, rates, device))
        .to_vec()
}

/// The line of an operation.
fn rate_line(op: Operation, rates: &Rates, device: Option<&NamedDevice>) -> (String, String) {
    let one = rate(op, rates.one(op));
    let all = rate(op, rates.all(op));
    let threads = rates.threads();

    // A device performs a few operations only; the others stay with the CPU.
    let performed =
        device.and_then(|device| device.rates.seconds().find(|(other, _)| *other == op));
    let by_device = match performed {
        Some((_, [one, group])) => format!(
            ", {} by the device, {} together",
            rate(op, one),
            rate(op, group)
        ),
        None => String::new(),
    };

    line(
        op.name(),
        format!("{one} on one thread, {all} on {threads}{by_device}"),
    )
}

/// The rate of an operation that takes this time: bytes per second, or the time itself.
fn rate(op: Operation, seconds: f64) -> String {
    match op.streams() {
        // Bound by memory: people know the bandwidth of their memory, and not the time of a byte.
        true => format!("{:.1} GB/s", 1e-9 / seconds),
        false => nanoseconds(seconds),
    }
}

fn nanoseconds(seconds: f64) -> String {
    // `units::seconds` has no unit below a millisecond.
    if seconds < 1e-6 {
        format!("{:.2} ns", seconds * 1e9)
    } else {
        units::seconds(seconds)
    }
}

fn check_predictions(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let loaded = rates::load(arguments.rates.as_deref())?;
    let checked = check::check(&check::FIVE, &loaded.rates, CHECK_RUNS, &Bars::new())?;

    if arguments.json {
        let object = json!({ "rates": loaded.origin, "checked": checked });
        writeln!(out, "{object}")?;
        return Ok(());
    }

    writeln!(
        out,
        "Predicted / measured on one thread; rates {}",
        loaded.description
    )?;
    Ok(check::write_table(out, &checked)?)
}

fn plan(
    arguments: &Arguments,
    database: &Database,
    origin: Option<String>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let loaded = with_device(arguments, rates::load(arguments.rates.as_deref())?)?;
    let demand = demand(arguments, database, &loaded.rates);
    let machines = arguments.shards.map(|shards| Machines {
        shards: shards as usize,
        network: arguments.network,
    });
    // Made before anything is printed: demands that nothing fulfils are an error, and no half
    // table.
    let plan = Plan::new(
        database,
        &demand,
        &loaded.rates,
        arguments.changes_per_hour,
        machines,
    )?;
    let filter_bytes = prefilter_bytes(arguments, database)?;

    if arguments.json {
        let mut json = plan.as_json(database, &demand, loaded.origin);
        let sealed = relayed_sizes::of_offer(plan.recommended());
        json["sealed"] = relayed_sizes::json(sealed);
        if let Some(bytes) = filter_bytes {
            json["prefilter_bytes"] = json!(bytes);
        }
        writeln!(out, "{json}")?;
        return Ok(());
    }

    let mut lines = headline(database, origin, &demand, &loaded);
    lines.extend(filter_bytes.map(|bytes| {
        let bytes = units::bytes(bytes);
        line(
            "prefilter",
            format!("about {bytes}, once per version and client"),
        )
    }));
    describe::print(&lines, out)?;
    writeln!(out)?;
    write_plan(arguments, &plan, out)
}

/// The length of the filter of the keys that the arguments ask for, in bytes.
fn prefilter_bytes(arguments: &Arguments, database: &Database) -> Result<Option<u64>, Failure> {
    match (arguments.prefilter, database.keys) {
        (None, _) => Ok(None),
        (Some(bits), Some(keys)) => Ok(Some(expected_bytes(bits, keys))),
        (Some(_), None) => Err(Failure::new(
            "--prefilter is a filter of keys: give --keyed, or a source with keys",
        )),
    }
}

/// Writes the tables of a plan and the recommendation.
fn write_plan(arguments: &Arguments, plan: &Plan, out: &mut dyn Write) -> Result<(), Failure> {
    // Dominated offers would hide the ones between which there is something to decide.
    table::write(out, &plan.choice, (!arguments.all).then_some(SHOWN))?;
    if let Some(divided) = &plan.divided {
        table::write_shards(out, divided)?;
    }

    writeln!(out, "\nRecommended: {}", plan.reason())?;
    let sealed = relayed_sizes::of_offer(plan.recommended());
    describe::print(&relayed_sizes::lines(sealed), out)?;
    // On every machine the same, so that it may differ from the recommendation for this one.
    if let Some(built) = &plan.built {
        writeln!(out, "Built without --scheme: {}", built.reason)?;
    }
    if let Some(clients) = arguments.clients {
        writeln!(out, "{}", capacity(&plan.choice, clients))?;
    }

    match (arguments.changes_per_hour, &plan.changes) {
        (Some(_), Some(changes)) => table::write_changes(out, changes),
        // The recommendation above is for lookups alone, and still holds.
        (Some(_), None) => Ok(writeln!(
            out,
            "\nNone of these can have a delta: update it as a whole."
        )?),
        (None, _) => Ok(()),
    }
}

/// Adds the rates of the device that answers, if one is given.
fn with_device(arguments: &Arguments, loaded: LoadedRates) -> Result<LoadedRates, Failure> {
    let Some(place) = &arguments.device else {
        return Ok(loaded);
    };

    // Rates of another device would be a guess that looks like a measurement.
    match loaded.device.clone().filter(|device| device.is_at(place)) {
        Some(NamedDevice { name, rates }) => Ok(LoadedRates {
            rates: loaded.rates.with_device(rates),
            description: format!("{}; {name}", loaded.description),
            ..loaded
        }),
        None => {
            let remedy = format!("measure them: papir plan --calibrate --device {place}");
            Err(Failure::new(format!(
                "there are no rates of {place} ({}): {remedy}",
                loaded.description
            )))
        }
    }
}

fn demand(arguments: &Arguments, database: &Database, rates: &Rates) -> Demand {
    Demand {
        failure: arguments.failure,
        connection: (arguments.uplink, arguments.downlink),
        memory: arguments.memory,
        threads: arguments
            .threads
            .map_or(rates.threads(), |threads| threads as usize),
        lookups: arguments.lookups,
        batch: arguments.batch.map(|batch| batch as usize),
        load: arguments.clients.map(|clients| clients as f64),
        ..Demand::of(database, rates)
    }
}

/// The database that the arguments describe, and its source in words. `None` if there is nothing to
/// plan.
fn database(arguments: &Arguments) -> Result<Option<(Database, Option<String>)>, Failure> {
    if let Some(source) = &arguments.source {
        return source::survey(source, &arguments.columns, arguments.record_bytes).map(Some);
    }

    // Columns of a source that is not given would be ignored without a word.
    arguments.columns.refuse()?;
    match arguments.records {
        Some(records) => Ok(Some((described(arguments, records)?, None))),
        None => Ok(None),
    }
}

/// The database with a number of records or keys.
fn described(arguments: &Arguments, records: u64) -> Result<Database, Failure> {
    Ok(match (arguments.record_bytes, arguments.record_bits) {
        (Some(bytes), _) if arguments.keyed => Database::of_keys(records, bytes)?,
        (Some(bytes), _) => Database::of_records(Shape::of_bytes(records, bytes)?),
        (None, Some(bits)) => Database::of_records(Shape::new(records, bits)?),
        (None, None) => {
            return Err(Failure::new(
                "missing record length: give --record-bytes or --record-bits",
            ));
        }
    })
}

/// The lines above the table: the requirements and the rates.
fn headline(
    database: &Database,
    origin: Option<String>,
    demand: &Demand,
    loaded: &LoadedRates,
) -> describe::Lines {
    let up = mbit(demand.connection.0);
    let down = mbit(demand.connection.1);

    let mut lines = describe::Lines::new();
    if let Some(origin) = origin {
        lines.push(line("source", origin));
    }
    lines.extend([
        line("database", records(database)),
        line(
            "connection",
            format!(
                "{up} up, {down} down; {} lookup(s) per client",
                demand.lookups
            ),
        ),
        line("server", server(demand)),
        line("failure", format!("at most {} per lookup", demand.failure)),
        line("rates", &loaded.description),
    ]);

    if let Some(batch) = demand.batch {
        lines.push(line(
            "batch",
            format!("costs are those of a batch of {batch} lookups"),
        ));
    }
    lines
}

/// The records of a database or, if it is keyed, its keys and the records of their table.
fn records(database: &Database) -> String {
    let shape = database.shape;
    let total = units::bytes(shape.total_bytes());
    let stored = format!(
        "{} records of {}, {total}",
        shape.records(),
        units::bits(shape.record_bits())
    );

    // The layout of keys is only known once they have been placed.
    let about = if database.estimated { "about " } else { "" };
    match database.keys {
        Some(keys) => {
            format!(
                "{keys} keys: {about}{stored}, {} of layout",
                units::bytes(database.layout_bytes)
            )
        }
        None => stored,
    }
}

/// The server's threads, and the load that it answers in groups.
fn server(demand: &Demand) -> String {
    let threads = format!("{} thread(s) per answer", demand.threads);
    match demand.load {
        Some(load) => {
            format!("{threads}; {load} lookups per second, in groups that keep up with them")
        }
        None => threads,
    }
}

fn mbit(bits: f64) -> String {
    format!("{} Mbit/s", bits / 1e6)
}

/// The cores and the bandwidth for a number of lookups per second.
fn capacity(choice: &RankedOffers, clients: u64) -> String {
    let best = &choice.best;
    let cores = best.cores(clients as f64);
    let each = units::seconds(best.group_core_s);

    let together = match best.group {
        1 => "each answered alone".to_owned(),
        group => format!("{group} answered together"),
    };
    let work = match best.batch {
        1 => format!("{each} of one core per lookup, {together}"),
        batch => format!("{each} of one core per full batch of {batch}, {together}"),
    };

    // Bandwidth as a network's owner buys it: of the server, both ways.
    let (received, sent) = best.bandwidth(clients as f64);
    format!(
        "{clients} lookups per second keep {cores} core(s) busy ({work}); the server receives {} and sends {}.",
        mbit_rounded(received),
        mbit_rounded(sent)
    )
}

/// A bandwidth with three digits at least.
fn mbit_rounded(bits: f64) -> String {
    let mbit = bits / 1e6;
    if mbit < 100.0 {
        format!("{mbit:.2} Mbit/s")
    } else {
        format!("{mbit:.0} Mbit/s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use papir_plan::planner::DEFAULT_SPEED;

    #[test]
    fn speeds_parse() {
        for (text, bits) in [
            ("10Mbit", DEFAULT_SPEED),
            ("1.5Gbit", 1.5e9),
            ("500 kbit", 5e5),
            ("9bit", 9.0),
        ] {
            assert!(
                (speed(text).unwrap_or_default() - bits).abs() < 1e-6,
                "{text}"
            );
        }
        for text in [
            "", "10", "Mbit", "-1Mbit", "0Mbit", "10MB", "NaNMbit", "infGbit",
        ] {
            assert!(speed(text).is_err(), "{text}");
        }
    }
}
