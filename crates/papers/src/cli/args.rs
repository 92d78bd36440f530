//! Arguments of `papir-papers`.

use std::path::PathBuf;

use papir_core::{Goal, Progress};
use papir_measure::cli::{DatabaseArguments, EffortArguments};
use papir_measure::effort::Effort;
use papir_plan::units::parse_bytes;
use papir_schemes::depir::evaluation::{Points, Tables, Tabulated};
use papir_schemes::depir::structure::levels::Steps;

use crate::depir::{self, DepirConfig};
use crate::{Result, tables};

/// Options of --all, which tables, figures and experiments fix.
const ALL_OPTIONS: [&str; 6] = [
    "records",
    "record_bytes",
    "record_bits",
    "goal",
    "clients",
    "csv",
];

/// Reproduce tables and figures of papers, and measure parts of their schemes.
///
/// Databases of pseudo-random records are prepared and queried as `papir bench` does. Every
/// returned record is compared with the source. All times are medians.
#[derive(Clone, Debug, clap::Parser)]
#[command(
    name = "papir-papers",
    version,
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub struct PapersArguments {
    /// An experiment named by --list.
    #[arg(value_name = "EXPERIMENT", required_unless_present_any = ["table", "figure", "all", "list", "record"], conflicts_with_all = ALL_OPTIONS, conflicts_with_all = ["size", "svg"])]
    pub name: Option<String>,
    /// Reproduce a table of a paper, with papir's figures next to the paper's; databases above
    /// --size are predicted.
    #[arg(long, value_name = "TABLE", conflicts_with_all = ALL_OPTIONS, conflicts_with_all = ["name", "svg"])]
    pub table: Option<String>,
    /// Reproduce a figure of a paper, with the paper's points and papir's; databases above --size
    /// are predicted.
    #[arg(long, value_name = "FIGURE", group = "drawn", conflicts_with_all = ALL_OPTIONS, conflicts_with_all = ["name", "table"])]
    pub figure: Option<String>,
    /// Compare every scheme on one database, beside what papers print for it. A scheme that refuses
    /// the database has a row with the reason, and one that takes longer than ten minutes is
    /// predicted.
    #[arg(long, group = "drawn", conflicts_with_all = ["name", "table"])]
    pub all: bool,
    /// Write the plot of --figure or --all to this file; of a figure, instead of printing its
    /// points.
    #[arg(long, value_name = "FILE", requires = "drawn")]
    pub svg: Option<PathBuf>,
    /// Print the rows of --all as CSV.
    #[arg(long, requires = "all", conflicts_with = "json")]
    pub csv: bool,
    /// List the experiments, tables and figures.
    #[arg(long, conflicts_with_all = ["name", "table", "drawn"])]
    pub list: bool,
    /// Run all tables and experiments, and write each to a JSON file in this folder, with its
    /// machine, commit, command and date. Databases that need more than --memory are predicted, and
    /// listed with the reason. Files that exist are kept, so that the same command continues an
    /// interrupted run. It takes hours.
    #[arg(long, value_name = "FOLDER", requires = "memory", conflicts_with_all = ALL_OPTIONS, conflicts_with_all = ["name", "table", "drawn", "list", "json"])]
    pub record: Option<PathBuf>,
    /// The most memory of a measurement, as in 24GiB: prepared database and hint, to which setup
    /// adds some. Larger ones are predicted, as are those that exceed the free memory.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, conflicts_with_all = ["name", "all", "list"])]
    pub memory: Option<u64>,
    /// Record these tables and experiments only, separated by commas.
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        requires = "record",
        conflicts_with_all = ["name", "table", "drawn", "list"]
    )]
    pub only: Vec<String>,
    /// The database of --all; of tables and figures, the largest size that is measured.
    #[command(flatten)]
    pub database: DatabaseArguments,
    /// Optimization goal for the parameters of --all: min-communication, balanced (the default) or
    /// min-time.
    #[arg(long)]
    pub goal: Option<Goal>,
    /// Clients whose queries --all answers together as well.
    #[arg(long, value_name = "B", default_value_t = 1)]
    pub clients: usize,
    /// Threads and runs.
    #[command(flatten)]
    pub effort: EffortArguments,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// The experiment with options of its own.
    #[command(subcommand)]
    pub adjusted: Option<AdjustedExperiment>,
}

const EXAMPLES: &str = "Examples:
  papir-papers --table inspire-3
  papir-papers --figure inspire-1 --svg inspire-1.svg
  papir-papers --all --records 1048576 --record-bytes 256 --svg all.svg
  papir-papers --record records --memory 24GiB
  papir-papers packing
  papir-papers compress
  papir-papers newton-tables
  papir-papers depir --set tiny
  papir-papers --table depir-3";

/// An experiment with options of its own.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum AdjustedExperiment {
    /// Measure doubly-efficient PIR with a parameter set of the paper.
    Depir(DepirArguments),
}

/// Arguments of `papir-papers depir`.
#[derive(Clone, Debug, clap::Args)]
pub struct DepirArguments {
    /// A parameter set of the paper: tiny, small, medium, or large, which is predicted.
    #[arg(long, value_name = "SET")]
    pub set: depir::Set,
    /// Evaluate with the Kedlaya-Umans data structure, with this many variables tabulated; by
    /// default, evaluate on lines.
    #[arg(long, value_name = "J|all")]
    pub tabulated: Option<Tabulated>,
    /// Reduction steps of the data structure: one, two, or the number of primes that are looked up
    /// directly, with the others reduced again; by default, the fewest look-ups in tables of 10
    /// GiB.
    #[arg(long, value_name = "one|two|N", requires = "tabulated")]
    pub steps: Option<Steps>,
    /// Use the paper's points in the data structure, instead of those on lines.
    #[arg(long, requires = "tabulated")]
    pub paper_points: bool,
    /// Store the data structure's tables as files in this folder, and reuse existing ones.
    #[arg(long, value_name = "FOLDER", requires = "tabulated")]
    pub tables: Option<PathBuf>,
    /// Threads and runs.
    #[command(flatten)]
    pub effort: EffortArguments,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

impl PapersArguments {
    /// The effort of --all, for several clients if asked for.
    pub(super) fn effort(&self) -> Effort {
        Effort {
            clients: self.clients,
            ..self.effort.alone()
        }
    }

    /// Creates the bench that measures the rows of a table or figure.
    pub(super) fn bench<'a>(&self, progress: &'a dyn Progress) -> Result<tables::Bench<'a>> {
        let largest = self.database.size;
        let rates = papir_plan::rates_file::load(None)?;

        Ok(tables::Bench::new(
            largest.unwrap_or(DatabaseArguments::DEFAULT_SIZE),
            self.effort.alone(),
            rates,
            progress,
        )
        .within(self.memory))
    }
}

impl DepirArguments {
    /// The requested parameter set and data structure.
    pub(super) fn config(&self) -> DepirConfig<'_> {
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

        DepirConfig {
            set: self.set,
            by,
            tables: self.tables.as_deref(),
        }
    }
}
