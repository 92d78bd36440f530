//! Command line of `papir-papers`.
//!
//! | file | contents |
//! |---|---|
//! | `args` | the arguments, and what they ask for |
//! | `papers` | tables and figures of papers |
//! | `list` | the list of experiments, tables and figures |

mod args;
mod list;
mod papers;

pub use args::{AdjustedExperiment, DepirArguments, PapersArguments};

use std::io::Write;
use std::path::Path;

use papir_core::{Choice, Progress};
use papir_measure::effort::Effort;
use papir_measure::field::measure_all;
use papir_measure::report::write_json;

use crate::depir::{self, DepirConfig};
use crate::experiments::{self, Experiment, perform};
use crate::record::{RecordRun, record};
use crate::{Error, Result, field, figures};

use list::write_list;
use papers::{run_figure, run_table, write_svg};

/// Runs the requested command, prints to `out`, and reports to `progress`.
///
/// # Errors
/// [`Error::Usage`] for unknown names and incompatible arguments, errors of the measurement, and
/// [`Error::Wrong`] if a record was wrong (the result is printed first).
pub fn run_with(
    args: &PapersArguments,
    out: &mut dyn Write,
    progress: &dyn Progress,
) -> Result<()> {
    // It has options of its own, and clap refuses others beside it.
    if let Some(AdjustedExperiment::Depir(depir)) = &args.adjusted {
        return run_depir(depir, out, progress);
    }
    if args.list {
        return write_list(out, args.json);
    }
    if let Some(name) = &args.table {
        return run_table(name, args, out, progress);
    }
    if let Some(name) = &args.figure {
        return run_figure(name, args, out, progress);
    }
    if args.all {
        return run_all(args, out, progress);
    }
    if let Some(folder) = &args.record {
        return run_record(args, folder, out, progress);
    }

    let named = named_experiment(args.name.as_deref().unwrap_or_default())?;
    // Its queries take seconds to minutes, during which nothing else is printed.
    if let Experiment::Depir(config) = named {
        announce(config, args.effort.alone())?;
    }
    run_experiment(named, args.effort.alone(), args.json, out, progress)
}

/// The experiment with this name.
fn named_experiment(name: &str) -> Result<Experiment<'static>> {
    if let Some(named) = experiments::by_name(name) {
        return Ok(named.experiment);
    }

    let names: Vec<&str> = experiments::ALL.iter().map(|named| named.name).collect();
    let expected = format!("{}; papir bench measures schemes", names.join(", "));
    Err(Error::usage(format!("`{name}`"), expected))
}

/// Runs an experiment, prints its report, and fails if a result was wrong.
fn run_experiment(
    experiment: Experiment<'_>,
    effort: Effort,
    json: bool,
    out: &mut dyn Write,
    progress: &dyn Progress,
) -> Result<()> {
    let report = perform(experiment, effort, progress)?;

    if json {
        report.write_json(out)?;
    } else {
        report.write_table(out)?;
    }
    report.check()
}

/// Measures or predicts a set of doubly-efficient PIR.
fn run_depir(args: &DepirArguments, out: &mut dyn Write, progress: &dyn Progress) -> Result<()> {
    let config = args.config();
    let effort = args.effort.alone();

    if config.set.is_predicted() {
        let report = depir::predict(config, effort, &papir_plan::rates_file::load(None)?)?;
        return if args.json {
            write_json(out, &report)
        } else {
            report.write_table(out)
        };
    }

    announce(config, effort)?;
    run_experiment(Experiment::Depir(config), effort, args.json, out, progress)
}

/// Announces the cost of a measurement of doubly-efficient PIR on stderr.
fn announce(config: DepirConfig<'_>, effort: Effort) -> Result<()> {
    let loaded = papir_plan::rates_file::load(None)?;
    let announcement = depir::announcement(config, effort, &loaded)?;
    // On stderr, so that stdout has the report alone.
    eprintln!("papir-papers: {announcement}");
    Ok(())
}

/// Runs all tables and experiments, and writes each to a file of the folder.
fn run_record(
    args: &PapersArguments,
    folder: &Path,
    out: &mut dyn Write,
    progress: &dyn Progress,
) -> Result<()> {
    // As it was typed, apart from quotes.
    let words: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();

    let run = RecordRun {
        folder,
        memory: args.memory.unwrap_or(u64::MAX),
        largest: args.database.size.unwrap_or(u64::MAX),
        only: &args.only,
        effort: args.effort.alone(),
        command: words.join(" "),
    };
    record(&run, papir_plan::rates_file::load(None)?, out, progress)
}

/// Measures every scheme on one database, beside what papers print for it.
fn run_all(args: &PapersArguments, out: &mut dyn Write, progress: &dyn Progress) -> Result<()> {
    let shape = args.database.shape()?;
    let choice = Choice::Goal(args.goal.unwrap_or_default());
    let rates = papir_plan::rates_file::load(None)?;
    let mut report = measure_all(shape, choice, args.effort(), &rates, progress)?;
    report.papers = Some(field::printed(shape)?);

    // Beside the rows: a plot of every scheme has no room for their parameters.
    if let Some(path) = &args.svg {
        write_svg(path, &figures::plot::draw(&field::figure(&report))?)?;
    }
    match (args.json, args.csv) {
        (true, _) => write_json(out, &report)?,
        (false, true) => report.write_csv(out)?,
        (false, false) => report.write_table(out)?,
    }
    report.check()
}
