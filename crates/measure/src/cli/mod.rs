//! Command line of `papir bench`.
//!
//! | file | contents |
//! |---|---|
//! | `args` | the arguments, and the work they ask for |
//! | `outcome` | running a benchmark, and its result |
//! | `list` | the list of named benchmarks |
//! | `moved` | commands that moved to papir-papers |

mod args;
mod list;
mod moved;
mod outcome;

pub use args::{
    Args, BatchArguments, Benchmark, DatabaseArguments, EffortArguments, ParameterArguments,
};
pub use moved::NAMES as MOVED;
pub use outcome::{NotMeasured, Outcome, perform};

use std::io::Write;

use papir_core::{Choice, Progress, Shape};
use papir_cuda::Cuda;

use crate::definitions::BenchWork;
use crate::effort::MeasurementPlan;
use crate::records::Synthetic;
use crate::report::write_json;
use crate::{Error, Result, device, field, schemes};

use list::write_list;

/// Runs the requested benchmark, prints its result to `out`, and reports to `progress`.
///
/// # Errors
/// [`Error::Moved`] for a benchmark of papir-papers, [`Error::Usage`] for incompatible arguments,
/// errors of the measurement, and [`Error::Wrong`] if a record was wrong (the result is printed
/// first).
pub fn run_with(args: &Args, out: &mut dyn Write, progress: &dyn Progress) -> Result<()> {
    // First: options of a benchmark that moved are not checked here any more.
    if let Some(arguments) = args.moved.arguments(args.name.as_deref(), args.all) {
        return Err(Error::Moved { arguments });
    }
    // It has options of its own, also for the number of threads.
    if let Some(Benchmark::Batch(batch)) = &args.benchmark {
        let outcome = perform(batch.work()?, batch.effort.alone(), progress)?;
        return report(&outcome, batch.json, out);
    }
    if args.list {
        return write_list(out, args.json);
    }
    if args.all {
        return run_all(args, out, progress);
    }
    if let Some(name) = &args.device {
        return run_device(name, args, out, progress);
    }

    // The arguments have either a name or a comparison, never both.
    let compared: Vec<&str> = args.compare.iter().map(String::as_str).collect();
    let named: Vec<&str> = args.name.as_deref().into_iter().collect();
    let work = args.work(if compared.is_empty() {
        &named
    } else {
        &compared
    })?;
    check_clients(&work, args.clients)?;

    let outcome = perform(work, args.effort(), progress)?;
    report(&outcome, args.json, out)
}

/// Prints the result, and fails if a record was wrong.
fn report(outcome: &Outcome, json: bool, out: &mut dyn Write) -> Result<()> {
    // Printed also if a record was wrong, since the report says so and the exit code only that.
    outcome.write(out, json)?;
    outcome.check()
}

/// Measures every scheme on one database.
fn run_all(args: &Args, out: &mut dyn Write, progress: &dyn Progress) -> Result<()> {
    let shape = args.database.shape()?;
    let choice = Choice::Goal(args.parameters.goal.unwrap_or_default());
    let rates = papir_plan::rates_file::load(None)?;
    let report = field::measure_all(shape, choice, args.effort(), &rates, progress)?;

    match (args.json, args.csv) {
        (true, _) => write_json(out, &report)?,
        (false, true) => report.write_csv(out)?,
        (false, false) => report.write_table(out)?,
    }
    report.check()
}

/// Measures a scheme with a device beside the CPU.
fn run_device(name: &str, args: &Args, out: &mut dyn Write, progress: &dyn Progress) -> Result<()> {
    let schemes: Vec<&str> = args.name.as_deref().into_iter().collect();
    let BenchWork::Schemes {
        schemes: [scheme],
        records,
        record_bits,
        choice,
    } = args.work(&schemes)?
    else {
        return Err(Error::usage(
            format!("--device {name} with this benchmark"),
            "a scheme",
        ));
    };

    let gpu = Cuda::by_name(
        name,
        Box::new(|failure| eprintln!("papir: {}", failure.error)),
    )?;
    let records = Synthetic::of(Shape::new(records, record_bits)?);
    let plan = MeasurementPlan {
        records: &records,
        expected: &records,
        choice,
        effort: args.effort.alone(),
    };
    let report = device::measure(
        &*schemes::by_name(scheme)?,
        &plan,
        // Measured now: the rate of a GPU depends on its temperature and on other programs.
        (&gpu, gpu.bandwidth()?),
        progress,
    )?;

    if args.json {
        write_json(out, &report)?
    } else {
        report.write_table(out)?
    }
    report.check()
}

/// Refuses several clients for benchmarks that do not answer queries of schemes.
fn check_clients(work: &BenchWork<'_>, clients: usize) -> Result<()> {
    match work {
        BenchWork::Schemes { .. } => Ok(()),
        _ if clients == 1 => Ok(()),
        _ => Err(Error::usage(
            format!("--clients {clients} with this benchmark"),
            "a scheme",
        )),
    }
}
