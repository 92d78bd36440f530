//! Arguments of `papir bench`, and the work they ask for.

use papir_core::{Choice, Goal, Shape};
use papir_plan::units::parse_bytes;

use super::moved::Moved;
use crate::batch::BatchConfig;
use crate::definitions::{self, BenchWork};
use crate::effort::Effort;
use crate::{Error, Result, schemes};

/// Default length of a record in bytes.
const DEFAULT_RECORD_BYTES: u64 = 64;

/// The benchmark of batches, which has options of its own.
const BATCH: &str = "batch";

/// Benchmark schemes.
///
/// Prepares a database of pseudo-random records and queries it: one warm-up query, then timed ones.
/// Every returned record is compared with the source. All times are medians. `reads` is the answer
/// time divided by the time that one core needs to read the database once.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub struct Args {
    /// A scheme, or a benchmark named by --list.
    #[arg(value_name = "SCHEME", required_unless_present_any = ["compare", "list", "all", "table", "figure"])]
    pub name: Option<String>,
    /// Compare several schemes on one database, in one table.
    #[arg(long, value_name = "SCHEME,…", value_delimiter = ',', conflicts_with_all = ["name", "dim0", "gamma0"])]
    pub compare: Vec<String>,
    /// Compare every scheme on one database. A scheme that refuses the database has a row with the
    /// reason, and one that takes longer than ten minutes is predicted.
    #[arg(long, conflicts_with_all = ["name", "compare", "dim0", "gamma0", "key_bits", "hold", "digests"])]
    pub all: bool,
    /// Print the rows of --all as CSV.
    #[arg(long, requires = "all", conflicts_with = "json")]
    pub csv: bool,
    /// List the named benchmarks. Those of papers: papir-papers --list.
    #[arg(long, conflicts_with_all = ["name", "compare"])]
    pub list: bool,
    /// The database.
    #[command(flatten)]
    pub database: DatabaseArguments,
    /// The parameters of the scheme.
    #[command(flatten)]
    pub parameters: ParameterArguments,
    /// Threads and runs.
    #[command(flatten)]
    pub effort: EffortArguments,
    /// Also answer the queries of this many clients together.
    #[arg(long, value_name = "B", default_value_t = 1)]
    pub clients: usize,
    /// Answer groups of 1, 8, 32 and 128 clients with this device too, as in cuda:0, and compare.
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["compare", "all", "clients"])]
    pub device: Option<String>,
    /// Print one JSON object; for several schemes, an array of objects.
    #[arg(long)]
    pub json: bool,
    /// The benchmark with options of its own.
    #[command(subcommand)]
    pub benchmark: Option<Benchmark>,
    /// Options of papir-papers.
    #[command(flatten)]
    pub(super) moved: Moved,
}

const EXAMPLES: &str = "Examples:
  papir bench inspire --size 256MiB --record-bytes 64 --dim0 16384
  papir bench --compare inspire,simple,plain --size 256MiB
  papir bench --all --records 1048576 --record-bytes 256
  papir bench inspire-1gib --json
  papir bench inspire --device cuda:0 --size 8GiB --dim0 65536 --threads 16
  papir bench batch --size 256MiB --batch 32

Tables and figures of papers, and measurements of their parts: papir-papers";

/// Size of a database of pseudo-random records.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DatabaseArguments {
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
}

/// Parameters of a scheme.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ParameterArguments {
    /// Columns of the matrix (InsPIRe: N/t, or the next smaller possible value); chosen by the goal
    /// otherwise.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "goal")]
    pub dim0: Option<u64>,
    /// 16-bit words per unit (γ0), for schemes that pack their first level in units.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), requires = "dim0", conflicts_with = "goal")]
    pub gamma0: Option<u64>,
    /// Bits of the LWE key per number in a query (zip, zipdouble); chosen by the goal otherwise.
    #[arg(long, value_name = "N", conflicts_with = "dim0")]
    pub key_bits: Option<usize>,
    /// Records with digests, which clients verify (newton, newtonsym, newtonsym-batch).
    #[arg(long, conflicts_with_all = ["goal", "dim0", "gamma0", "key_bits", "hold"])]
    pub digests: bool,
    /// Clients send the keys of their queries ahead (zip, zipdouble).
    #[arg(long, conflicts_with = "dim0")]
    pub hold: bool,
    /// Optimization goal for the parameters: min-communication, balanced (the default) or min-time.
    #[arg(long)]
    pub goal: Option<Goal>,
}

/// Threads and runs of a measurement.
#[derive(Clone, Debug, clap::Args)]
pub struct EffortArguments {
    /// Threads for setup and answers; may exceed the number of cores.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub threads: usize,
    /// Number of timed queries.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub runs: usize,
}

/// A benchmark with options of its own.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Benchmark {
    /// Compare a batch of records with single lookups.
    Batch(BatchArguments),
}

/// Arguments of `papir bench batch`.
#[derive(Clone, Debug, clap::Args)]
pub struct BatchArguments {
    /// Records per batch.
    #[arg(long, value_name = "K", default_value_t = BatchConfig::DEFAULT.capacity)]
    pub batch: usize,
    /// The scheme underlying the batches.
    #[arg(long, value_name = "SCHEME", default_value = BatchConfig::DEFAULT.scheme)]
    pub over: String,
    /// The database.
    #[command(flatten)]
    pub database: DatabaseArguments,
    /// Optimization goal for the parameters: min-communication, balanced (the default) or min-time.
    #[arg(long)]
    pub goal: Option<Goal>,
    /// Threads and runs.
    #[command(flatten)]
    pub effort: EffortArguments,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

impl DatabaseArguments {
    /// Default size of a database in bytes.
    pub const DEFAULT_SIZE: u64 = 1 << 30;

    /// Returns the number and length of the records.
    ///
    /// # Errors
    /// [`Error::Usage`] if the size has no room for a record, and the errors of [`Shape::new`].
    pub fn shape(&self) -> Result<Shape> {
        let record_bits = match (self.record_bits, self.record_bytes) {
            (Some(bits), _) => bits,
            (None, bytes) => bytes.unwrap_or(DEFAULT_RECORD_BYTES).saturating_mul(8),
        };
        let records = match self.records {
            Some(records) => records,
            None => records_in(self.size.unwrap_or(Self::DEFAULT_SIZE), record_bits)?,
        };

        Ok(Shape::new(records, record_bits)?)
    }

    /// Returns true if an option is given.
    fn any(&self) -> bool {
        [self.size, self.records, self.record_bytes, self.record_bits]
            .iter()
            .any(Option::is_some)
    }
}

impl ParameterArguments {
    /// Returns the choice of parameters that the options make.
    fn choice(&self) -> Choice {
        let goal = self.goal.unwrap_or_default();
        // Both options are of keys that a client registers, and one of them suffices.
        let registered = self.hold || self.key_bits.is_some();

        match (self.dim0, self.gamma0) {
            _ if self.digests => Choice::Digests,
            (Some(columns), Some(words)) => Choice::Packed { columns, words },
            (Some(columns), None) => Choice::Columns(columns),
            _ if registered => Choice::Registered {
                goal,
                key_bits: self.key_bits,
                hold: self.hold,
            },
            _ => Choice::Goal(goal),
        }
    }

    /// Returns true if an option is given.
    fn any(&self) -> bool {
        self.dim0.is_some()
            || self.key_bits.is_some()
            || self.digests
            || self.hold
            || self.goal.is_some()
    }
}

impl EffortArguments {
    /// Returns the effort for one client alone.
    pub fn alone(&self) -> Effort {
        Effort::alone(self.threads, self.runs)
    }
}

impl BatchArguments {
    /// Returns the requested benchmark of batches.
    pub(super) fn work(&self) -> Result<BenchWork<'_>> {
        let shape = self.database.shape()?;

        Ok(BenchWork::Batch(BatchConfig {
            scheme: &self.over,
            records: shape.records(),
            record_bits: shape.record_bits(),
            goal: self.goal.unwrap_or_default(),
            capacity: self.batch,
        }))
    }
}

impl Args {
    /// Returns the effort, for several clients if asked for.
    pub(super) fn effort(&self) -> Effort {
        Effort {
            clients: self.clients,
            ..self.effort.alone()
        }
    }

    /// Returns the requested work of schemes, or of a named benchmark.
    pub(super) fn work<'a>(&self, schemes: &'a [&'a str]) -> Result<BenchWork<'a>> {
        // Named benchmarks come first: no scheme has the name of one.
        if let [name] = schemes
            && let Some(definition) = definitions::by_name(name)
        {
            return self
                .check_no_database_options(name)
                .map(|()| definition.work);
        }

        schemes.iter().try_for_each(|name| check_known(name))?;
        let shape = self.database.shape()?;
        Ok(BenchWork::Schemes {
            schemes,
            records: shape.records(),
            record_bits: shape.record_bits(),
            choice: self.parameters.choice(),
        })
    }

    /// Refuses options whose values a named benchmark fixes.
    fn check_no_database_options(&self, name: &str) -> Result<()> {
        if !self.database.any() && !self.parameters.any() {
            return Ok(());
        }

        if name == BATCH {
            return Err(Error::usage(
                "options before `batch`",
                "all of them after it: papir bench batch --size 256MiB",
            ));
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
    // Saturates for sizes above 2^61 bytes, which no scheme holds.
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
