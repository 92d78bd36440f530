//! Command line of `papir bench`.

use std::io::Write;
use std::path::{Path, PathBuf};

use papir_core::{Choice, Goal, NoProgress, Progress, Shape};
use papir_cuda::Cuda;

use crate::batch::{self, BatchReport};
use crate::compress::{self, CompressionReport};
use crate::definitions::{self, Work};
use crate::depir::sheet::{Kind, Sheet};
use crate::effort::{Effort, Plan};
use crate::measure::measure;
use crate::newton::{self, NewtonReport};
use crate::packing::{self, PackingReport};
use crate::phase0::{self, Phase0Report};
use crate::psi::{self, PsiReport};
use crate::records::Synthetic;
use crate::report::{write_columns, write_table};
use crate::schemes;
use papir_plan::units::parse_bytes;
use papir_schemes::depir::evaluation::{Points, Tables, Tabulated};
use papir_schemes::depir::structure::levels::Steps;

use crate::{Error, Report, Result, depir, device, field, figures, tables};

/// Default size of a database in bytes.
const DEFAULT_SIZE: u64 = 1 << 30;
/// Default length of a record in bytes.
const DEFAULT_RECORD_BYTES: u64 = 64;

/// The benchmark of batches, which accepts the size options of schemes.
const BATCH: &str = "batch";
/// The scheme with named parameter sets.
const DEPIR: &str = "depir";

/// Options that conflict with --table and --figure, which fix the databases.
const DATABASE_OPTIONS: [&str; 9] = [
    "name",
    "compare",
    "dim0",
    "gamma0",
    "records",
    "record_bytes",
    "record_bits",
    "goal",
    "digests",
];

/// Benchmark schemes.
///
/// Prepares a database of pseudo-random records and queries it: one warm-up query, then timed ones.
/// Every returned record is compared with the source. All times are medians. `reads` is the answer
/// time divided by the time that one core needs to read the database once.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A scheme, or a benchmark named by --list.
    #[arg(value_name = "SCHEME", required_unless_present_any = ["compare", "list", "table", "figure", "all"])]
    pub name: Option<String>,
    /// Compare several schemes on one database, in one table.
    #[arg(long, value_name = "SCHEME,…", value_delimiter = ',', conflicts_with_all = ["name", "dim0"])]
    pub compare: Vec<String>,
    /// Compare every scheme on one database, beside what papers print for it. A scheme that refuses the
    /// database has a row with the reason, and one that takes longer than ten minutes is predicted.
    #[arg(long, group = "drawn", conflicts_with_all = ["name", "compare", "table", "dim0", "gamma0", "key_bits", "hold", "digests", "set", "batch", "over"])]
    pub all: bool,
    /// Reproduce a table of a paper, with papir's figures next to the paper's; databases above
    /// --size are predicted.
    #[arg(long, value_name = "TABLE", conflicts_with_all = DATABASE_OPTIONS)]
    pub table: Option<String>,
    /// Reproduce a figure of a paper, with the paper's points and papir's; databases above --size
    /// are predicted.
    #[arg(long, value_name = "FIGURE", group = "drawn", conflicts_with_all = DATABASE_OPTIONS, conflicts_with = "table")]
    pub figure: Option<String>,
    /// Write the plot of --figure or --all to this file; of a figure, instead of printing its points.
    #[arg(long, value_name = "FILE", requires = "drawn", conflicts_with_all = ["name", "compare", "table"])]
    pub svg: Option<PathBuf>,
    /// Print the rows of --all as CSV.
    #[arg(long, requires = "all", conflicts_with = "json")]
    pub csv: bool,
    /// List the named benchmarks, tables and figures.
    #[arg(long, conflicts_with_all = ["name", "compare"])]
    pub list: bool,
    /// Size of the database: 64MiB, 1GiB (the default), or a number of bytes.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, conflicts_with = "records")]
    pub size: Option<u64>,
    /// The number of records, instead of --size.
    #[arg(long, value_name = "N")]
    pub records: Option<u64>,
    /// Bytes per record [default: 64].
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub record_bytes: Option<u64>,
    /// Bits per record, if not a whole number of bytes.
    #[arg(long, value_name = "BITS", conflicts_with = "record_bytes")]
    pub record_bits: Option<u64>,
    /// Columns of the matrix (InsPIRe: N/t, or the next smaller possible value); chosen by the goal
    /// otherwise.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "goal")]
    pub dim0: Option<u64>,
    /// 16-bit words per unit (γ0), for schemes that pack their first level in units.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), requires = "dim0", conflicts_with_all = ["compare", "goal"])]
    pub gamma0: Option<u64>,
    /// Bits of the LWE key per number in a query (zip, zipdouble); chosen by the goal otherwise.
    #[arg(long, value_name = "N", conflicts_with = "dim0")]
    pub key_bits: Option<usize>,
    /// Records per batch (batch) [default: 64].
    #[arg(long, value_name = "K", conflicts_with_all = ["dim0", "key_bits", "hold"])]
    pub batch: Option<usize>,
    /// The scheme underlying the batches (batch) [default: inspire].
    #[arg(long, value_name = "SCHEME", conflicts_with_all = ["dim0", "key_bits", "hold"])]
    pub over: Option<String>,
    /// Records with digests, which clients verify (newton, newtonsym, newtonsym-batch).
    #[arg(long, conflicts_with_all = ["goal", "dim0", "gamma0", "key_bits", "hold", "batch", "over", "set"])]
    pub digests: bool,
    /// Clients send the keys of their queries ahead (zip, zipdouble).
    #[arg(long, conflicts_with = "dim0")]
    pub hold: bool,
    /// Optimization goal for the parameters: min-communication, balanced (the default) or min-time.
    #[arg(long)]
    pub goal: Option<Goal>,
    /// Threads for setup and answers; may exceed the number of cores.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub threads: usize,
    /// Number of timed queries.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub runs: usize,
    /// Also answer the queries of this many clients together.
    #[arg(long, value_name = "B", default_value_t = 1, conflicts_with_all = ["table", "figure", "set", "batch", "over"])]
    pub clients: usize,
    /// Answer groups of 1, 8, 32 and 128 clients with this device too, as in cuda:0, and compare.
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["compare", "all", "table", "figure", "clients", "set", "batch", "over"])]
    pub device: Option<String>,
    /// A parameter set of the paper (depir): tiny, small, medium, or large, which is predicted.
    #[arg(long, value_name = "SET", conflicts_with_all = ["compare", "table", "figure", "dim0", "key_bits", "hold", "batch", "over", "goal", "records", "record_bytes", "record_bits", "size"])]
    pub set: Option<depir::Set>,
    /// Evaluate with the Kedlaya-Umans data structure, with this many variables tabulated (depir
    /// --set); by default, evaluate on lines.
    #[arg(long, value_name = "J|all", requires = "set")]
    pub tabulated: Option<Tabulated>,
    /// Reduction steps of the data structure: one, two, or the number of primes that are looked up
    /// directly, with the others reduced again; by default, the fewest look-ups in tables of 10 GiB.
    #[arg(long, value_name = "one|two|N", requires = "tabulated")]
    pub steps: Option<Steps>,
    /// Use the paper's points in the data structure, instead of those on lines.
    #[arg(long, requires = "tabulated")]
    pub paper_points: bool,
    /// Store the data structure's tables as files in this folder, and reuse existing ones.
    #[arg(long, value_name = "FOLDER", requires = "tabulated")]
    pub tables: Option<PathBuf>,
    /// Print one JSON object; for several schemes, an array of objects.
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "Examples:
  papir bench inspire --size 256MiB --record-bytes 64 --dim0 16384
  papir bench --compare inspire,simple,plain --size 256MiB
  papir bench --all --records 1048576 --record-bytes 256 --svg all.svg
  papir bench inspire-1gib --json
  papir bench packing
  papir bench inspire --device cuda:0 --size 8GiB --dim0 65536 --threads 16
  papir bench compress
  papir bench newton-tables
  papir bench depir --set tiny
  papir bench --table depir-3
  papir bench batch --size 256MiB --batch 32
  papir bench --table inspire-3
  papir bench --figure inspire-1 --svg inspire-1.svg";

/// Runs the benchmark and prints to stdout.
///
/// # Errors
/// Same as [`run_with`].
pub fn run(args: Args) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Ok(run_with(&args, &mut std::io::stdout().lock(), &NoProgress)?)
}

/// Runs the benchmark, prints to `out`, and reports to `progress`.
///
/// # Errors
/// [`Error::Usage`] for incompatible arguments, errors of the measurement, and [`Error::Wrong`] if
/// a record was wrong (the result is printed first).
pub fn run_with(args: &Args, out: &mut dyn Write, progress: &dyn Progress) -> Result<()> {
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
    if let Some(name) = &args.device {
        return run_device(name, args, out, progress);
    }
    let compared: Vec<&str> = args.compare.iter().map(String::as_str).collect();
    let named: Vec<&str> = args.name.as_deref().into_iter().collect();
    let work = args.work(if compared.is_empty() {
        &named
    } else {
        &compared
    })?;
    let effort = Effort {
        threads: args.threads,
        runs: args.runs,
        clients: args.clients,
    };
    check_clients(&work, args.clients)?;
    if let Work::Depir(config) = work {
        let loaded = papir_plan::rates_file::load(None)?;
        if config.set.is_predicted() {
            let report = depir::predict(config, effort, &loaded)?;
            return if args.json {
                write_json(out, &report)
            } else {
                report.write_table(out)
            };
        }
        eprintln!("papir: {}", depir::announcement(config, effort, &loaded)?);
    }
    let outcome = perform(work, effort, progress)?;
    outcome.write(out, args.json)?;
    outcome.check()
}

/// Measures every scheme on one database.
fn run_all(args: &Args, out: &mut dyn Write, progress: &dyn Progress) -> Result<()> {
    let (records, record_bits) = args.database()?;
    let shape = Shape::new(records, record_bits)?;
    let choice = Choice::Goal(args.goal.unwrap_or_default());
    let effort = Effort {
        threads: args.threads,
        runs: args.runs,
        clients: args.clients,
    };
    let rates = papir_plan::rates_file::load(None)?;
    let report = field::measure_all(shape, choice, effort, &rates, progress)?;
    if let Some(path) = &args.svg {
        write_svg(path, &figures::plot::draw(&report.figure())?)?;
    }
    match (args.json, args.csv) {
        (true, _) => write_json(out, &report)?,
        (false, true) => report.write_csv(out)?,
        (false, false) => report.write_table(out)?,
    }
    if report.correct() {
        Ok(())
    } else {
        Err(Error::Wrong {
            what: "a scheme of --all".to_owned(),
        })
    }
}

/// Measures a scheme with a device.
fn run_device(name: &str, args: &Args, out: &mut dyn Write, progress: &dyn Progress) -> Result<()> {
    let schemes: Vec<&str> = args.name.as_deref().into_iter().collect();
    let Work::Schemes {
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
    let effort = Effort::alone(args.threads, args.runs);
    let plan = Plan {
        records: &records,
        expected: &records,
        choice,
        effort,
    };
    let report = device::measure(
        &*schemes::by_name(scheme)?,
        &plan,
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

/// Reproduces and prints a table of a paper.
fn run_table(name: &str, args: &Args, out: &mut dyn Write, progress: &dyn Progress) -> Result<()> {
    if let Some(sheet) = depir::sheet_by_name(Kind::Table, name) {
        return run_sheet(sheet, args, out, progress);
    }
    if let Some(quoted) = tables::ALL_QUOTED.iter().find(|quoted| quoted.name == name) {
        let report = quoted.report();
        return if args.json {
            write_json(out, &report)
        } else {
            report.write_table(out)
        };
    }
    let quoted = || tables::ALL_QUOTED.iter().map(|quoted| quoted.name);
    let all = || {
        tables::all()
            .map(|table| table.name)
            .chain(sheets(Kind::Table))
            .chain(quoted())
    };
    let table = tables::by_name(name).ok_or_else(|| unknown("table", name, all()))?;
    let report = tables::run(table, &mut args.bench(progress)?)?;
    if args.json {
        write_json(out, &report)?
    } else {
        report.write_table(out)?
    }
    if report.correct() {
        Ok(())
    } else {
        Err(Error::Wrong {
            what: table.name.to_owned(),
        })
    }
}

/// Reproduces a figure of a paper; prints its points, or draws it.
fn run_figure(name: &str, args: &Args, out: &mut dyn Write, progress: &dyn Progress) -> Result<()> {
    if let Some(sheet) = depir::sheet_by_name(Kind::Figure, name) {
        return run_sheet(sheet, args, out, progress);
    }
    let all = || {
        figures::ALL
            .iter()
            .map(|figure| figure.name)
            .chain(sheets(Kind::Figure))
    };
    let figure = figures::by_name(name).ok_or_else(|| unknown("figure", name, all()))?;
    let report = figures::run(figure, &mut args.bench(progress)?)?;
    if let Some(path) = &args.svg {
        write_svg(path, &figures::plot::draw(&report)?)?;
    }
    match (args.json, &args.svg) {
        (true, _) => write_json(out, &report)?,
        (false, None) => report.write_table(out)?,
        (false, Some(_)) => {}
    }
    if report.correct {
        Ok(())
    } else {
        Err(Error::Wrong {
            what: figure.name.to_owned(),
        })
    }
}

/// Names of all sheets of one kind.
fn sheets(kind: Kind) -> impl Iterator<Item = &'static str> {
    depir::all_sheets()
        .filter(move |sheet| sheet.kind == kind)
        .map(|sheet| sheet.name)
}

/// Computes and prints a sheet, or draws it.
fn run_sheet(
    sheet: &Sheet,
    args: &Args,
    out: &mut dyn Write,
    progress: &dyn Progress,
) -> Result<()> {
    if args.size.is_some() {
        return Err(Error::usage(
            format!("`{}` with --size", sheet.name),
            "none: it has fixed sets",
        ));
    }
    let effort = Effort::alone(args.threads, args.runs);
    let report = sheet.make([depir::Set::Tiny, depir::Set::Small], effort, progress)?;
    if let Some(path) = &args.svg {
        write_svg(path, &depir::draw(&report)?)?;
    }
    match (args.json, &args.svg) {
        (true, _) => write_json(out, &report)?,
        (false, None) => report.write_table(out)?,
        (false, Some(_)) => {}
    }
    if report.correct {
        Ok(())
    } else {
        Err(Error::Wrong {
            what: sheet.name.to_owned(),
        })
    }
}

fn unknown(what: &str, name: &str, all: impl Iterator<Item = &'static str>) -> Error {
    Error::usage(
        format!("{what} `{name}`"),
        all.collect::<Vec<_>>().join(" or "),
    )
}

fn write_svg(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| {
        Error::usage(
            format!("{}: {error}", path.display()),
            "a file that can be written",
        )
    })
}

impl Args {
    /// Creates the bench that measures the rows of a table or figure.
    fn bench<'a>(&self, progress: &'a dyn Progress) -> Result<tables::Bench<'a>> {
        let effort = Effort::alone(self.threads, self.runs);
        let largest = self.size.unwrap_or(DEFAULT_SIZE);
        Ok(tables::Bench::new(
            largest,
            effort,
            papir_plan::rates_file::load(None)?,
            progress,
        ))
    }

    /// The requested work.
    fn work<'a>(&'a self, schemes: &'a [&'a str]) -> Result<Work<'a>> {
        if let Some(set) = self.set {
            return self.depir(schemes, set).map(Work::Depir);
        }
        if let [BATCH] = schemes {
            return self.batch().map(Work::Batch);
        }
        if self.batch.is_some() || self.over.is_some() {
            let found = format!("--batch or --over with {}", schemes.join(", "));
            return Err(Error::usage(found, "the benchmark `batch`"));
        }
        if let [name] = schemes
            && let Some(definition) = definitions::by_name(name)
        {
            return self
                .check_no_database_options(name)
                .map(|()| definition.work);
        }
        schemes.iter().try_for_each(|name| check_known(name))?;
        let (records, record_bits) = self.database()?;
        let goal = self.goal.unwrap_or_default();
        let registered = self.hold || self.key_bits.is_some();
        let choice = match (self.dim0, self.gamma0) {
            _ if self.digests => Choice::Digests,
            (Some(columns), Some(words)) => Choice::Packed { columns, words },
            (Some(columns), None) => Choice::Columns(columns),
            _ if registered => Choice::Registered {
                goal,
                key_bits: self.key_bits,
                hold: self.hold,
            },
            _ => Choice::Goal(goal),
        };
        Ok(Work::Schemes {
            schemes,
            records,
            record_bits,
            choice,
        })
    }

    /// Number of records, and bits per record.
    fn database(&self) -> Result<(u64, u64)> {
        let record_bits = match (self.record_bits, self.record_bytes) {
            (Some(bits), _) => bits,
            (None, bytes) => bytes.unwrap_or(DEFAULT_RECORD_BYTES).saturating_mul(8),
        };
        let records = match self.records {
            Some(records) => records,
            None => records_in(self.size.unwrap_or(DEFAULT_SIZE), record_bits)?,
        };
        Ok((records, record_bits))
    }

    /// The requested batches.
    fn batch(&self) -> Result<batch::Config<'_>> {
        let default = batch::Config::DEFAULT;
        let (records, record_bits) = self.database()?;
        Ok(batch::Config {
            scheme: self.over.as_deref().unwrap_or(default.scheme),
            records,
            record_bits,
            goal: self.goal.unwrap_or_default(),
            capacity: self.batch.unwrap_or(default.capacity),
        })
    }

    /// The requested parameter set of doubly-efficient PIR.
    fn depir(&self, schemes: &[&str], set: depir::Set) -> Result<depir::Config<'_>> {
        if schemes != [DEPIR] {
            return Err(Error::usage(
                format!("--set with {}", schemes.join(", ")),
                "the scheme depir",
            ));
        }
        let points = if self.paper_points {
            Points::OfPaper
        } else {
            Points::OnLines
        };
        let by = self.tabulated.map(|tabulated| Tables {
            tabulated,
            steps: self.steps,
            points,
        });
        Ok(depir::Config {
            set,
            by,
            tables: self.tables.as_deref(),
        })
    }

    /// Refuses options whose values a named benchmark fixes.
    fn check_no_database_options(&self, name: &str) -> Result<()> {
        let sizes = [
            self.size,
            self.records,
            self.record_bytes,
            self.record_bits,
            self.dim0,
        ];
        let fixed = self.goal.is_some() || self.key_bits.is_some() || self.hold || self.digests;
        if sizes.iter().all(Option::is_none) && !fixed {
            return Ok(());
        }
        let found = format!(
            "`{name}` with a size, record count, record length, --dim0, --key-bits, --hold, --digests or --goal"
        );
        Err(Error::usage(
            found,
            "none of them: they are fixed (see --list)",
        ))
    }
}

/// Refuses several clients for benchmarks that do not answer queries of schemes.
fn check_clients(work: &Work<'_>, clients: usize) -> Result<()> {
    match work {
        Work::Schemes { .. } => Ok(()),
        _ if clients == 1 => Ok(()),
        _ => Err(Error::usage(
            format!("--clients {clients} with this benchmark"),
            "a scheme",
        )),
    }
}

fn check_known(name: &str) -> Result<()> {
    let names = schemes::names()?;
    if names.contains(&name) {
        return Ok(());
    }
    let expected = format!(
        "a scheme ({}), or a benchmark named by --list",
        names.join(", ")
    );
    Err(Error::usage(format!("`{name}`"), expected))
}

fn records_in(size: u64, record_bits: u64) -> Result<u64> {
    let records = size.saturating_mul(8) / record_bits.max(1);
    if records > 0 {
        return Ok(records);
    }
    let found = format!(
        "a database of {size} bytes with records of {}",
        record_bits.div_ceil(8)
    );
    Err(Error::usage(found, "room for at least one record"))
}

/// A scheme of a comparison that could not be measured.
#[derive(Clone, Debug, serde::Serialize)]
pub struct NotMeasured {
    /// Its name.
    pub scheme: String,
    /// The reason.
    pub reason: String,
}

/// The result of a benchmark.
pub enum Outcome {
    /// One report per scheme; in a comparison, also the schemes that do not support the database.
    Schemes(Vec<Report>, Vec<NotMeasured>),
    /// The report of packing.
    Packing(PackingReport),
    /// The report of compression.
    Compression(CompressionReport),
    /// The report of NewtonPIR.
    Newton(NewtonReport),
    /// The report of Pirouette's phase 0.
    Phase0(Phase0Report),
    /// The report of batches.
    Batch(BatchReport),
    /// The report of a set intersection.
    Psi(PsiReport),
    /// The report of a set of doubly-efficient PIR.
    Depir(depir::DepirReport),
}

/// Runs a benchmark.
///
/// # Errors
/// Errors of the measurement.
pub fn perform(work: Work<'_>, effort: Effort, progress: &dyn Progress) -> Result<Outcome> {
    match work {
        Work::Packing { ciphertexts } => {
            packing::measure(ciphertexts, effort, progress).map(Outcome::Packing)
        }
        Work::Compression(config) => {
            compress::measure(config, effort.runs, progress).map(Outcome::Compression)
        }
        Work::Newton(config) => newton::measure(config, effort, progress).map(Outcome::Newton),
        Work::Phase0(config) => phase0::measure(config, effort, progress).map(Outcome::Phase0),
        Work::Batch(config) => batch::measure(config, effort, progress).map(Outcome::Batch),
        Work::Psi(config) => psi::measure(config, effort, progress).map(Outcome::Psi),
        Work::Depir(config) => depir::measure(config, effort, progress).map(Outcome::Depir),
        Work::Schemes {
            schemes,
            records,
            record_bits,
            choice,
        } => {
            let records = Synthetic::of(Shape::new(records, record_bits)?);
            let plan = Plan {
                records: &records,
                expected: &records,
                choice,
                effort,
            };
            let measured = |name: &&str| measure(&*schemes::by_name(name)?, &plan, progress);
            let mut reports = Vec::new();
            let mut not_measured = Vec::new();
            for name in schemes {
                match measured(name) {
                    Ok(report) => reports.push(report),
                    // In a comparison, one failing scheme must not hide the results of the others.
                    Err(error @ (Error::Core(_) | Error::Usage { .. })) if schemes.len() > 1 => {
                        not_measured.push(NotMeasured {
                            scheme: (*name).to_owned(),
                            reason: error.to_string(),
                        });
                    }
                    Err(error) => return Err(error),
                }
            }
            if let ([], [first, ..]) = (&reports[..], &not_measured[..]) {
                return Err(Error::usage(
                    &first.reason,
                    "a database that one of the schemes supports",
                ));
            }
            Ok(Outcome::Schemes(reports, not_measured))
        }
    }
}

impl Outcome {
    fn write(&self, out: &mut dyn Write, json: bool) -> Result<()> {
        match (self, json) {
            (Self::Schemes(reports, not_measured), false) => {
                write_table(out, reports)?;
                for NotMeasured { scheme, reason } in not_measured {
                    writeln!(out, "{scheme} not measured: {reason}")?;
                }
                Ok(())
            }
            (Self::Packing(report), false) => report.write_table(out),
            (Self::Compression(report), false) => report.write_table(out),
            (Self::Newton(report), false) => report.write_table(out),
            (Self::Phase0(report), false) => report.write_table(out),
            (Self::Batch(report), false) => report.write_table(out),
            (Self::Psi(report), false) => report.write_table(out),
            (Self::Depir(report), false) => report.write_table(out),
            (Self::Schemes(reports, not_measured), true) => match (&reports[..], &not_measured[..])
            {
                ([report], []) => write_json(out, report),
                (_, []) => write_json(out, reports),
                _ => write_json(out, &both(reports, not_measured)?),
            },
            (Self::Packing(report), true) => write_json(out, report),
            (Self::Compression(report), true) => write_json(out, report),
            (Self::Newton(report), true) => write_json(out, report),
            (Self::Phase0(report), true) => write_json(out, report),
            (Self::Batch(report), true) => write_json(out, report),
            (Self::Psi(report), true) => write_json(out, report),
            (Self::Depir(report), true) => write_json(out, report),
        }
    }

    /// Checks that all returned records were correct.
    ///
    /// # Errors
    /// [`Error::Wrong`].
    pub fn check(&self) -> Result<()> {
        let wrong: Vec<&str> = match self {
            Self::Schemes(reports, _) => reports
                .iter()
                .filter(|report| !report.correct)
                .map(|report| report.scheme)
                .collect(),
            Self::Packing(report) => Some(report.part)
                .filter(|_| !report.correct)
                .into_iter()
                .collect(),
            Self::Compression(report) => Some(report.part)
                .filter(|_| !report.correct)
                .into_iter()
                .collect(),
            Self::Newton(report) => Some(report.part)
                .filter(|_| !report.correct)
                .into_iter()
                .collect(),
            Self::Phase0(report) => Some(report.part)
                .filter(|_| !report.correct)
                .into_iter()
                .collect(),
            Self::Batch(report) => Some(report.part)
                .filter(|_| !report.correct)
                .into_iter()
                .collect(),
            Self::Psi(report) => Some(report.part)
                .filter(|_| !report.correct)
                .into_iter()
                .collect(),
            Self::Depir(report) => Some(report.part)
                .filter(|_| !report.correct)
                .into_iter()
                .collect(),
        };
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(Error::Wrong {
                what: wrong.join(", "),
            })
        }
    }
}

/// The reports, followed by the schemes that were not measured.
fn both(reports: &[Report], not_measured: &[NotMeasured]) -> Result<Vec<serde_json::Value>> {
    let values = reports
        .iter()
        .map(serde_json::to_value)
        .chain(not_measured.iter().map(serde_json::to_value));
    Ok(values.collect::<Result<_, _>>()?)
}

fn write_json(out: &mut dyn Write, value: &impl serde::Serialize) -> Result<()> {
    writeln!(out, "{}", serde_json::to_string(value)?)?;
    Ok(())
}

/// Kind, name and description of all benchmarks, tables and figures. A table and a figure may share
/// a name.
fn all_named() -> impl Iterator<Item = [&'static str; 3]> {
    let benchmarks = definitions::ALL
        .iter()
        .map(|one| ["benchmark", one.name, one.what]);
    let tables = tables::all().map(|table| ["table", table.name, table.what]);
    let figures = figures::ALL
        .iter()
        .map(|figure| ["figure", figure.name, figure.what]);
    let quoted = tables::ALL_QUOTED
        .iter()
        .map(|table| ["table", table.name, table.what]);
    let sheets = depir::all_sheets().map(|sheet| {
        [
            if sheet.kind == Kind::Table {
                "table"
            } else {
                "figure"
            },
            sheet.name,
            sheet.what,
        ]
    });
    benchmarks
        .chain(tables)
        .chain(figures)
        .chain(sheets)
        .chain(quoted)
}

fn write_list(out: &mut dyn Write, json: bool) -> Result<()> {
    if json {
        let object = |[kind, name, what]: [&str; 3]| serde_json::json!({ "kind": kind, "name": name, "what": what });
        return write_json(out, &all_named().map(object).collect::<Vec<_>>());
    }
    let typed = |[kind, name, what]: [&str; 3]| match kind {
        "benchmark" => vec![name.to_owned(), what.to_owned()],
        _ => vec![format!("--{kind} {name}"), what.to_owned()],
    };
    write_columns(out, &all_named().map(typed).collect::<Vec<_>>())
}
