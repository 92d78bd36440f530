//! Computation of a table: measures or predicts papir's configurations.

use papir_core::erased::ErasedScheme;
use papir_core::{Description, Error as CoreError, Progress, Shape};
use papir_measure::cost::{Cost, Status};
use papir_measure::effort::{Effort, MeasurementPlan};
use papir_measure::measure::measure;
use papir_measure::memory::{fits_memory, needed};
use papir_measure::records::Synthetic;
use papir_measure::report::{Stages, titles};
use papir_measure::schemes;
use serde::Serialize;

use super::scaling::{Counted, Scaled, ScaledRow};
use super::{Block, Ours, Published, QUOTED, Table};
use crate::{Error, Result};
use papir_plan::rates_file::LoadedRates;
use papir_plan::units::bytes as display;

/// One row: the paper's figures and papir's.
#[derive(Clone, Debug, Serialize)]
pub struct TableRow {
    /// The database, in the paper's words.
    pub database: &'static str,
    /// The entry size, in the paper's words.
    pub entry: &'static str,
    /// The scheme, in the paper's words.
    pub scheme: &'static str,
    /// papir's scheme and parameters.
    pub configuration: Option<String>,
    /// Its N/t, if fixed.
    pub columns: Option<u64>,
    /// The paper's keys, query and download in KB of 1024 bytes.
    pub paper_kb: Option<[f64; 3]>,
    /// Their sum.
    pub paper_total_kb: f64,
    /// The paper's server time in milliseconds.
    pub paper_server_ms: f64,
    /// The parts of the paper's server time.
    pub paper_stages: Stages,
    /// The paper's offline seconds.
    pub paper_offline_s: Option<f64>,
    /// The paper's KB of state for a client.
    pub paper_state_kb: Option<f64>,
    /// papir's result.
    pub papir: Status,
    /// The limit for which papir's figures are predicted; `None` if they are measured, or absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<String>,
    /// Times on several threads, if the table compares numbers of cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaled: Option<Scaled>,
}

/// A whole table.
#[derive(Clone, Debug, Serialize)]
pub struct TableReport {
    /// Its name.
    pub table: &'static str,
    /// Its number in the paper, and what it compares.
    pub what: &'static str,
    /// Explanations for the reader.
    pub notes: Vec<String>,
    /// Origin of the rates used for predictions.
    pub rates: String,
    /// Configurations whose total communication is below the paper's.
    pub below: usize,
    /// Configurations whose total communication is above the paper's.
    pub above: usize,
    /// Its rows.
    pub rows: Vec<TableRow>,
}

impl TableReport {
    /// True if every returned record was correct.
    pub fn correct(&self) -> bool {
        !self
            .rows
            .iter()
            .filter_map(|row| row.papir.cost())
            .any(|cost| cost.correct == Some(false))
    }
}

/// A configuration of papir on a database, on a number of threads.
#[derive(Clone, Copy, PartialEq, Eq)]
struct MeasuredConfiguration {
    ours: Ours,
    shape: Shape,
    threads: usize,
}

/// A result, and the limit for which it is predicted.
#[derive(Clone)]
struct LimitedStatus {
    status: Status,
    unmeasured: Option<String>,
}

impl From<Status> for LimitedStatus {
    fn from(status: Status) -> Self {
        Self {
            status,
            unmeasured: None,
        }
    }
}

/// The result of a configuration.
struct SeenConfigurations {
    configuration: MeasuredConfiguration,
    found: LimitedStatus,
}

/// Measures or predicts configurations, each only once.
pub struct Bench<'a> {
    largest: u64,
    /// The most memory of a measurement, if it is less than what is free.
    memory: Option<u64>,
    effort: Effort,
    rates: LoadedRates,
    progress: &'a dyn Progress,
    /// Threads of this machine, for tables that compare numbers of cores.
    machine: usize,
    seen: Vec<SeenConfigurations>,
}

impl<'a> Bench<'a> {
    /// Creates a bench. Costs of databases above `largest` bytes, or above free memory, are
    /// predicted with `rates` ([`papir_plan::rates_file::load`]).
    pub fn new(
        largest: u64,
        effort: Effort,
        rates: LoadedRates,
        progress: &'a dyn Progress,
    ) -> Self {
        // A machine that does not say how many threads it has counts as one.
        let machine = std::thread::available_parallelism().map_or(1, |threads| threads.get());
        Self {
            largest,
            memory: None,
            effort,
            rates,
            progress,
            machine,
            seen: Vec::new(),
        }
    }

    /// Predicts costs of databases that need more than `memory` bytes, too.
    #[must_use]
    pub fn within(self, memory: Option<u64>) -> Self {
        Self { memory, ..self }
    }

    /// Origin of the rates used for predictions.
    pub fn rates(&self) -> &str {
        &self.rates.description
    }

    /// Computes the rows of a database.
    ///
    /// # Errors
    /// Errors of the measurement.
    pub fn rows(&mut self, block: &Block) -> Result<Vec<TableRow>> {
        block
            .published
            .iter()
            .map(|published| self.row(block, published))
            .collect()
    }

    fn row(&mut self, block: &Block, published: &Published) -> Result<TableRow> {
        let found = match &published.ours {
            None => LimitedStatus::from(Status::NotCompared),
            Some(ours) => self.status(ours, block, self.effort.threads)?,
        };

        // A row without parts leaves the list empty, since a zip ends with the shorter one.
        let parts = block.parts.iter().map(|part| (*part).to_owned());
        let parts = parts.zip(published.parts_ms.iter().copied());

        Ok(TableRow {
            database: block.database,
            entry: block.entry,
            scheme: published.scheme,
            configuration: published.ours.map(|ours| ours.to_string()),
            columns: published.ours.and_then(|ours| ours.named_columns()),
            paper_kb: published.kb,
            paper_total_kb: published.total_kb,
            paper_server_ms: published.server_ms,
            paper_stages: Stages(parts.collect()),
            paper_offline_s: published.offline_s,
            paper_state_kb: published.state_kb,
            papir: found.status,
            unmeasured: found.unmeasured,
            scaled: self.scaled(block, published)?,
        })
    }

    /// papir's times on one thread and on all threads of this machine.
    fn scaled(&mut self, block: &Block, published: &Published) -> Result<Option<Scaled>> {
        let Some(scaling) = &published.scaling else {
            return Ok(None);
        };
        let one = self.status(&scaling.ours, block, 1)?.status;
        let all = self.status(&scaling.ours, block, self.machine)?.status;

        // Without a time on one thread there is nothing to scale from.
        if one.cost().is_none() {
            return Ok(None);
        }

        let shape = block.shape()?;
        let scheme = schemes::by_name(scaling.ours.scheme)?;
        let candidate = schemes::candidate(&*scheme, shape, scaling.ours.choice)?;
        let Some(counted) = Counted::new(scaling, shape, candidate.description.work.answer) else {
            return Ok(None);
        };

        let measured = ScaledRow {
            block,
            published,
            scaling,
            counted: &counted,
            rates: &self.rates.rates,
            threads: self.machine,
            one: &one,
            all: &all,
        };
        Ok(Some(measured.scaled()))
    }

    fn status(&mut self, ours: &Ours, block: &Block, threads: usize) -> Result<LimitedStatus> {
        // A database that no scheme holds is a row with the reason, and the others still have
        // theirs.
        let shape = match block.shape() {
            Err(error) => return Ok(no_parameters(&error)),
            Ok(shape) => shape,
        };

        let configuration = MeasuredConfiguration {
            ours: *ours,
            shape,
            threads,
        };
        // A configuration may be in several tables and figures, and a measurement takes minutes.
        if let Some(seen) = self
            .seen
            .iter()
            .find(|seen| seen.configuration == configuration)
        {
            return Ok(seen.found.clone());
        }

        let effort = Effort {
            threads,
            ..self.effort
        };
        let found = self.find(ours, shape, effort)?;
        self.seen.push(SeenConfigurations {
            configuration,
            found: found.clone(),
        });
        Ok(found)
    }

    fn find(&self, ours: &Ours, shape: Shape, effort: Effort) -> Result<LimitedStatus> {
        let scheme = match schemes::by_name(ours.scheme) {
            // A scheme that this build does not have is no error: the row says so.
            Err(Error::Core(CoreError::UnknownScheme { .. })) => {
                return Ok(Status::NotBuiltIn.into());
            }
            found => found?,
        };
        let description = match schemes::candidate(&*scheme, shape, ours.choice) {
            Err(error) => return Ok(no_parameters(&error)),
            Ok(candidate) => candidate.description,
        };

        // Decided before anything is prepared: the sizes of both are exact.
        if let Some(limit) = self.limit(shape, &description) {
            let cost = Cost::predicted(&description, &self.rates.rates, effort.threads);
            return Ok(LimitedStatus {
                status: Status::Predicted(cost),
                unmeasured: Some(limit),
            });
        }

        let cost = self.measure(&*scheme, shape, ours, effort)?;
        Ok(Status::Measured(cost).into())
    }

    /// The limit that a database exceeds; `None` if it is measured.
    fn limit(&self, shape: Shape, description: &Description) -> Option<String> {
        let database = shape.total_bytes();
        if database > self.largest {
            let [found, most] = [database, self.largest].map(display);
            return Some(format!("records of {found}: at most {most} are measured"));
        }

        let needed = needed(description);
        let found = display(needed);
        if let Some(most) = self.memory.filter(|most| needed > *most) {
            let most = display(most);
            return Some(format!("{found} of memory: at most {most} are measured"));
        }
        (!fits_memory(description)).then(|| format!("{found} of memory: less is free"))
    }

    fn measure(
        &self,
        scheme: &dyn ErasedScheme,
        shape: Shape,
        ours: &Ours,
        effort: Effort,
    ) -> Result<Cost> {
        let records = Synthetic::of(shape);
        let plan = MeasurementPlan {
            records: &records,
            expected: &records,
            choice: ours.choice,
            effort,
        };
        measure(scheme, &plan, self.progress).map(Cost::measured)
    }
}

/// The result for a database or configuration that papir refuses.
fn no_parameters(error: &Error) -> LimitedStatus {
    let reason = error.to_string();
    Status::NoParameters { reason }.into()
}

/// Computes a table.
///
/// # Errors
/// Errors of the measurement.
pub fn run(table: &Table, bench: &mut Bench<'_>) -> Result<TableReport> {
    let mut rows = Vec::new();
    for block in table.blocks {
        rows.extend(bench.rows(block)?);
    }

    // Rows without papir's figures, and equal ones, count for neither.
    let mut below = 0;
    let mut above = 0;
    for row in &rows {
        if let Some(cost) = row.papir.cost() {
            below += usize::from(cost.total_kib < row.paper_total_kb);
            above += usize::from(cost.total_kib > row.paper_total_kb);
        }
    }

    let mut notes = titles(table.notes);
    // A reader must not take quoted times for times of this machine.
    if rows
        .iter()
        .any(|row| matches!(row.papir, Status::NotCompared))
    {
        notes.push(QUOTED.to_owned());
    }
    notes.extend(table.blocks.iter().filter_map(Block::note));

    Ok(TableReport {
        table: table.name,
        what: table.what,
        notes,
        rates: bench.rates().to_owned(),
        below,
        above,
        rows,
    })
}
