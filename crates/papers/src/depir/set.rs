//! Benchmark of one parameter set.

use std::path::Path;
use std::str::FromStr;

use getrandom::SysRng;
use papir_core::cost::Operation;
use papir_core::scheme::{Client, Parameters, Server, Wire};
use papir_core::scratch::{InMemory, Scratch};
use papir_core::{Progress, Record, Shape, read_record};
use papir_kernels::Backend;
use papir_measure::clock::{median, timed};
use papir_measure::effort::Effort;
use papir_measure::memory::Resident;
use papir_measure::records::Synthetic;
use papir_measure::report::write_columns;
use papir_schemes::depir::client::DepirClient;
use papir_schemes::depir::evaluation::{Points, Tables};
use papir_schemes::depir::params::DepirParams;
use papir_schemes::depir::server::DepirServer;
use papir_schemes::depir::simplex::Simplex;
use papir_schemes::depir::structure::levels::Levels;
use papir_schemes::depir::structure::{Effort as LookupCounts, Structure};
use papir_schemes::depir::wire::{DepirAnswer, DepirQuery};
use papir_store::ScratchFolder;
use rand_core::{Rng, UnwrapErr};
use serde::Serialize;

use super::memory::check_memory;
use crate::{Error, Result};
use papir_plan::units::bytes as display;

/// A parameter set with as many records as one of the paper's Table 3, or a small one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// 7,315 records of 2 bytes: four variables of degree 18, rings of degree 2¹⁵.
    Tiny,
    /// 46,376 records of 2 bytes: four variables of degree 30.
    Small,
    /// 15,020,334 records of 2 bytes: 44 variables of degree 6, rings of degree 2¹³. The paper's
    /// five variables of degree 68 need a ring that is not secure.
    Medium,
    /// 185,250,786 records of 2 bytes: 48 variables of degree 7, rings of degree 2¹⁴. Predicted
    /// only.
    Large,
    /// 35 records, for tests.
    Least,
}

impl Set {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
            Self::Least => "least",
        }
    }

    /// The parameters of the set.
    ///
    /// # Errors
    /// Same as [`DepirParams::new`].
    pub fn params(self) -> Result<DepirParams> {
        // Tiny and small have the paper's numbers of variables. Medium and large have those that
        // cost least, because no secure ring evaluates the paper's degrees.
        let (records, ring_degree, variables) = match self {
            Self::Tiny => (7315, 1 << 15, 4),
            Self::Small => (46_376, 1 << 15, 4),
            Self::Medium => (15_020_334, 1 << 13, 44),
            Self::Large => (185_250_786, 1 << 14, 48),
            Self::Least => (35, 1 << 13, 4),
        };
        Ok(DepirParams::new(
            Shape::of_bytes(records, 2)?,
            ring_degree,
            variables,
        )?)
    }
}

impl FromStr for Set {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "tiny" => Ok(Self::Tiny),
            "small" => Ok(Self::Small),
            "medium" => Ok(Self::Medium),
            "large" => Ok(Self::Large),
            other => Err(Error::usage(
                format!("the set `{other}`"),
                "tiny, small, medium or large",
            )),
        }
    }
}

/// Inputs of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DepirConfig<'a> {
    /// The parameters.
    pub set: Set,
    /// Tables of the data structure; `None` for evaluation on lines.
    pub by: Option<Tables>,
    /// Folder for tables stored as files; `None` to keep tables in memory.
    pub tables: Option<&'a Path>,
}

impl DepirConfig<'_> {
    /// Configuration of a set's benchmark on lines.
    pub const fn of(set: Set) -> Self {
        Self {
            set,
            by: None,
            tables: None,
        }
    }
}

/// Operation counts of one answer.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Counters {
    /// Evaluated or looked-up points, summed over all primes.
    pub points: u64,
    /// Products of residues in evaluations.
    pub multiplications: u64,
    /// Bytes of tables read.
    pub table_bytes_read: u64,
}

/// Costs of a parameter set. Times are medians.
#[derive(Clone, Debug, Serialize)]
pub struct DepirReport {
    /// "depir".
    pub part: &'static str,
    /// Name of the parameter set.
    pub set: &'static str,
    /// "lines", or "structure".
    pub method: &'static str,
    /// "on lines", or "of the paper": the points of the structure.
    pub points: &'static str,
    /// Number of variables tabulated in the structure.
    pub tabulated: Option<usize>,
    /// Numbers of first-level primes that the structure looks up, and that it reduces again.
    pub levels: Option<[usize; 2]>,
    /// Records of the database.
    pub records: u64,
    /// Bytes per record.
    pub record_bytes: usize,
    /// Threads.
    pub threads: usize,
    /// The kernels' backend.
    pub backend: &'static str,
    /// n: the degree of the ring.
    pub ring_degree: usize,
    /// m: the number of variables.
    pub variables: usize,
    /// D: the total degree.
    pub degree: usize,
    /// log₂ Q: the size of the ciphertext modulus in bits.
    pub log2_modulus: f64,
    /// Number of primes of Q.
    pub primes: usize,
    /// Estimated bits of security.
    pub security_bits: f64,
    /// log₂ of the probability that decoding an honest answer fails.
    pub failure_log2: f64,
    /// Indices per query.
    pub batch: usize,
    /// Bytes of a query.
    pub query_bytes: u64,
    /// Bytes of an answer.
    pub answer_bytes: u64,
    /// Time to preprocess the records: interpolation and tables.
    pub preprocess_s: f64,
    /// Bytes of the tables.
    pub table_bytes: u64,
    /// Client time to create a query.
    pub query_s: f64,
    /// Server time, from the query's bytes to the answer's bytes.
    pub answer_s: f64,
    /// Server time per index.
    pub answer_ms_per_index: f64,
    /// Evaluation, a part of the server time.
    pub evaluate_s: f64,
    /// Modulus switching, a part of the server time.
    pub switch_s: f64,
    /// Client time to extract the records.
    pub extract_s: f64,
    /// Operation counts of an answer.
    pub work: Counters,
    /// Resident memory of the process, including the maximum that an answer adds.
    pub rss_bytes: Option<u64>,
    /// Number of records compared.
    pub compared: usize,
    /// True if all compared records were correct.
    pub correct: bool,
}

/// Prepares the database and queries it `runs` times.
///
/// # Errors
/// Errors of the scheme; [`Error::Backend`], [`Error::Threads`], or [`Error::Usage`] for threads,
/// runs or memory out of range.
pub fn measure(
    config: DepirConfig<'_>,
    effort: Effort,
    progress: &dyn Progress,
) -> Result<DepirReport> {
    let backend = Backend::try_from_env()?.name();
    effort.pool()?.install(|| {
        let bench = Bench::prepare(config, progress)?;

        progress.stage("queries", effort.runs as u64);
        // After the setup, whose temporary memory is not the server's.
        let mut resident = Resident::after_setup();
        let mut runs = Vec::new();

        for _ in 0..effort.runs {
            if let Some(resident) = &mut resident {
                resident.before_answer();
            }
            runs.push(bench.run()?);
            progress.advance(1);
        }

        Ok(bench.report(config, effort, backend, &runs, resident))
    })
}

/// A prepared database.
struct Bench {
    records: Synthetic,
    server: DepirServer,
    preprocess_s: f64,
}

/// Times and counts of one query.
#[derive(Default)]
struct QueryRun {
    query: f64,
    answer: f64,
    evaluate: f64,
    switch: f64,
    extract: f64,
    lookups: LookupCounts,
    compared: usize,
    correct: bool,
}

impl Bench {
    fn prepare(config: DepirConfig<'_>, progress: &dyn Progress) -> Result<Self> {
        let params = config.params()?;

        // Tables take nearly all of the memory, or space on the disk if they are files.
        if config.by.is_some() {
            papir_store::check_memory(&params.table_lengths(), config.tables.is_some())?;
        } else {
            check_memory(&params, rayon::current_num_threads())?;
        }

        let records = Synthetic::of(params.shape());
        // Files are found again by a later measurement: long tables take long to make.
        let mut scratch: Box<dyn Scratch> = match config.tables {
            Some(folder) => Box::new(ScratchFolder::open(folder).map_err(table_folder_error)?),
            None => Box::new(InMemory),
        };

        let mut rng = UnwrapErr(SysRng);
        let (server, preprocess_s) = timed(|| {
            DepirServer::setup_resumable(params, &records, &mut *scratch, &mut rng, progress)
        });

        Ok(Self {
            records,
            server: server?,
            preprocess_s,
        })
    }

    /// Makes a query for as many indices as fit, and checks the returned records.
    fn run(&self) -> Result<QueryRun> {
        let params = self.server.params();
        let mut rng = UnwrapErr(SysRng);
        let count = params.shape().records();
        // Indices may repeat: each has a slot of its own.
        let indices: Vec<u64> = (0..params.ring_degree())
            .map(|_| rng.next_u64() % count)
            .collect();

        // Made before the clocks start: a client is made once, and sends many queries.
        let client = DepirClient::new(params.clone(), self.server.public().clone())?;

        let mut run = QueryRun {
            compared: indices.len(),
            ..QueryRun::default()
        };

        // Timed with its encoding, as a client sends bytes.
        let (created, seconds) = timed(|| {
            let (secret, query) = client.query(None, &indices, &mut rng)?;
            Ok::<_, papir_core::Error>((secret, query.encode(params)))
        });
        run.query = seconds;
        let (secret, query) = created?;

        let (answer, seconds) = timed(|| self.answer(&query, &mut run));
        run.answer = seconds;
        let answer = answer?;

        let (found, seconds) =
            timed(|| client.extract(secret, DepirAnswer::decode(params, &answer)?));
        run.extract = seconds;
        run.correct = found.is_ok_and(|found| self.records_match(&indices, &found));

        Ok(run)
    }

    /// Answers a query, from its bytes to the answer's bytes.
    fn answer(&self, query: &[u8], run: &mut QueryRun) -> Result<Vec<u8>> {
        let params = self.server.params();
        let query = DepirQuery::decode(params, query)?;
        // Expanding seeds is a part of the answer's time, but of neither stage.
        let ciphertexts = self.server.expand(&query);

        let (residues, seconds) = timed(|| {
            let points = self.server.points(&ciphertexts)?;
            // Records of 2 bytes have one chunk.
            let (residues, lookups) = self.server.evaluate(&points, 0);
            run.lookups = lookups;
            Ok::<_, papir_core::Error>(residues)
        });
        run.evaluate = seconds;

        let (words, seconds) = timed(|| residues.map(|residues| self.server.switch(&residues)));
        run.switch = seconds;

        Ok(DepirAnswer::new(words?).encode(params))
    }

    fn records_match(&self, indices: &[u64], found: &[Record]) -> bool {
        found.len() == indices.len()
            && indices.iter().zip(found).all(|(&index, record)| {
                read_record(&self.records, index).is_ok_and(|expected| expected == *record)
            })
    }

    fn report(
        &self,
        config: DepirConfig<'_>,
        effort: Effort,
        backend: &'static str,
        runs: &[QueryRun],
        resident: Option<Resident>,
    ) -> DepirReport {
        let params = self.server.params();
        let description = params.describe();
        let ring = params.bv().ring();
        let Simplex { variables, degree } = params.simplex();

        // The first run counts: an answer takes seconds, beside which cold caches are nothing.
        let median_of = |time: fn(&QueryRun) -> f64| median(runs.iter().map(time).collect());
        let answer_s = median_of(|run| run.answer);
        let lookups = runs.last().map(|run| run.lookups).unwrap_or_default();

        let tabulation = params.tabulation();
        // Records of 2 bytes have one chunk, and so one structure.
        let levels = self.server.structure(0).map(Structure::levels);

        DepirReport {
            part: "depir",
            set: config.set.name(),
            method: if levels.is_some() {
                "structure"
            } else {
                "lines"
            },
            points: match tabulation.map(|tabulation| tabulation.points) {
                Some(Points::OfPaper) => "of the paper",
                _ => "on lines",
            },
            tabulated: tabulation.map(|tabulation| tabulation.tabulated),
            levels: levels.map(|levels: &Levels| [levels.first, levels.reduced.len()]),
            records: description.shape.records(),
            record_bytes: description.shape.record_bytes(),
            threads: effort.threads,
            backend,
            ring_degree: params.ring_degree(),
            variables,
            degree,
            log2_modulus: ring.log2_modulus(),
            primes: ring.len(),
            security_bits: description.security.map_or(0.0, |security| security.bits),
            failure_log2: description.failure_log2,
            batch: params.ring_degree(),
            query_bytes: description.sizes.query,
            answer_bytes: description.sizes.answer,
            preprocess_s: self.preprocess_s,
            table_bytes: self.server.structure(0).map_or(0, Structure::table_bytes),
            query_s: median_of(|run| run.query),
            answer_s,
            answer_ms_per_index: 1e3 * answer_s / params.ring_degree() as f64,
            evaluate_s: median_of(|run| run.evaluate),
            switch_s: median_of(|run| run.switch),
            extract_s: median_of(|run| run.extract),
            work: match levels {
                None => line_counters(params),
                Some(_) => Counters {
                    points: lookups.points,
                    multiplications: lookups.multiplications,
                    table_bytes_read: lookups.table_bytes,
                },
            },
            rss_bytes: resident.map(|resident| resident.bytes()),
            compared: runs.iter().map(|run| run.compared).sum(),
            correct: runs.iter().all(|run| run.correct),
        }
    }
}

/// Operation counts of an evaluation on lines.
fn line_counters(params: &DepirParams) -> Counters {
    // Counted from the parameters: lines do no work that depends on the points.
    let points = params.ring_degree() * params.bv().ring().len() * (params.simplex().degree + 1);
    let products = params.describe().work.answer.times(Operation::Term);
    Counters {
        points: points as u64,
        multiplications: products as u64,
        table_bytes_read: 0,
    }
}

impl DepirConfig<'_> {
    /// The parameters of the set, with its tables.
    pub(super) fn params(&self) -> Result<DepirParams> {
        let params = self.set.params()?;
        Ok(match self.by {
            Some(tables) => params.with_tables(tables)?,
            None => params,
        })
    }
}

fn table_folder_error(error: impl ToString) -> Error {
    Error::usage("the folder of tables", error)
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.2} s")
}

impl DepirReport {
    /// Writes the report as a table.
    ///
    /// # Errors
    /// I/O errors from `out`.
    pub fn write_table(&self, out: &mut dyn std::io::Write) -> Result<()> {
        let lines: Vec<Vec<String>> = self
            .lines()
            .into_iter()
            .map(|(name, value)| vec![name.to_owned(), value])
            .collect();
        write_columns(out, &lines)
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let method = match (self.tabulated, self.levels) {
            (Some(tabulated), Some([direct, reduced])) => format!(
                "structure, {tabulated} of {} variables tabulated, {direct} primes looked up and {reduced} reduced again",
                self.variables
            ),
            _ => "on lines, no table".to_owned(),
        };

        vec![
            (
                "set",
                format!(
                    "{}: {} records of {} B",
                    self.set, self.records, self.record_bytes
                ),
            ),
            ("threads", format!("{}, {}", self.threads, self.backend)),
            (
                "parameters",
                format!(
                    "n = {}, m = {}, D = {}, log2 Q = {:.1} in {} primes, {} bits, failure 2^{:.0}",
                    self.ring_degree,
                    self.variables,
                    self.degree,
                    self.log2_modulus,
                    self.primes,
                    self.security_bits,
                    self.failure_log2
                ),
            ),
            ("method", method),
            ("preprocessing", seconds(self.preprocess_s)),
            ("tables", display(self.table_bytes)),
            ("batch", format!("{} indices per query", self.batch)),
            (
                "query",
                format!(
                    "{}, made in {}",
                    display(self.query_bytes),
                    seconds(self.query_s)
                ),
            ),
            (
                "answer",
                format!(
                    "{}, decoded in {}",
                    display(self.answer_bytes),
                    seconds(self.extract_s)
                ),
            ),
            (
                "answer time",
                format!(
                    "{}, {:.3} ms per index",
                    seconds(self.answer_s),
                    self.answer_ms_per_index
                ),
            ),
            ("  evaluate", seconds(self.evaluate_s)),
            ("  switch", seconds(self.switch_s)),
            ("points", format!("{:.3e}", self.work.points as f64)),
            (
                "multiplications",
                format!("{:.3e}", self.work.multiplications as f64),
            ),
            (
                "table bytes read",
                format!("{:.3e}", self.work.table_bytes_read as f64),
            ),
            ("resident", self.rss_bytes.map_or("-".to_owned(), display)),
            ("compared", format!("{} records", self.compared)),
            (
                "correct",
                if self.correct { "yes" } else { "NO" }.to_owned(),
            ),
        ]
    }
}
