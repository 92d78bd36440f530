//! Every scheme on one database.
//!
//! A scheme of the registry needs no further code to appear. One that refuses the database has a
//! row with the reason, and one that would take more than ten minutes or too much memory is
//! predicted.

mod write;

use papir_core::erased::ErasedScheme;
use papir_core::{Choice, Description, NoProgress, Privacy, Progress, Shape};
use papir_plan::rates_file::LoadedRates;
use serde::Serialize;

use crate::cost::{Cost, Status};
use crate::effort::{Effort, Plan};
use crate::measure::measure;
use crate::memory::fits_memory;
use crate::records::Synthetic;
use crate::{Error, Result, schemes};

/// Seconds of a measurement from which a scheme is predicted.
const LONGEST: f64 = 600.0;

/// A scheme on the database.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// The scheme's name.
    pub scheme: &'static str,
    /// False for a scheme that does not hide what is looked up.
    pub private: bool,
    /// Label of its parameters.
    pub parameters: String,
    /// Lookups that a query may hold.
    pub lookups: usize,
    /// Estimated security; null if the scheme encrypts nothing.
    pub security_bits: Option<f64>,
    /// log₂ of the probability that an answer does not decode; null if every answer decodes.
    pub failure_log2: Option<f64>,
    /// Its costs, or why there are none.
    #[serde(flatten)]
    pub status: Status,
}

/// A row that a paper prints for the database.
#[derive(Clone, Debug, Serialize)]
pub struct PrintedRow {
    /// The paper and the number of the table.
    pub table: &'static str,
    /// The scheme, in the paper's words.
    pub scheme: &'static str,
    /// Keys, query and download, in KB of 1024 bytes.
    pub total_kib: f64,
    /// The server time in milliseconds, on the paper's machine.
    pub server_ms: f64,
}

/// All schemes on one database.
#[derive(Clone, Debug, Serialize)]
pub struct FieldReport {
    /// Number of records.
    pub records: u64,
    /// Bits of a record.
    pub record_bits: u64,
    /// Threads of setup and answers.
    pub threads: usize,
    /// Kernels of this machine.
    pub backend: &'static str,
    /// Origin of the rates used for predictions.
    pub rates: String,
    /// The schemes, in the order of the registry.
    pub schemes: Vec<Entry>,
    /// The rows that papers print for this database; `None` unless papir-papers adds them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub papers: Option<Vec<PrintedRow>>,
}

/// Measures or predicts every scheme of the registry.
///
/// # Errors
/// Errors of the measurement that are not a scheme's refusal.
pub fn measure_all(
    shape: Shape,
    choice: Choice,
    effort: Effort,
    rates: &LoadedRates,
    progress: &dyn Progress,
) -> Result<FieldReport> {
    let bench = FieldBench {
        shape,
        choice,
        effort,
        rates,
        progress,
    };

    let names = schemes::names()?;
    Ok(FieldReport {
        records: shape.records(),
        record_bits: shape.record_bits(),
        threads: effort.threads,
        backend: papir_kernels::Backend::try_from_env()?.name(),
        rates: rates.description.clone(),
        schemes: names
            .into_iter()
            .map(|name| bench.entry(name))
            .collect::<Result<_>>()?,
        papers: None,
    })
}

struct FieldBench<'a> {
    shape: Shape,
    choice: Choice,
    effort: Effort,
    rates: &'a LoadedRates,
    progress: &'a dyn Progress,
}

impl FieldBench<'_> {
    fn entry(&self, name: &'static str) -> Result<Entry> {
        let scheme = schemes::by_name(name)?;
        let private = scheme.privacy() == Privacy::Private;

        let candidate = match schemes::candidate(&*scheme, self.shape, self.choice) {
            Ok(candidate) => candidate,
            Err(error) => return Ok(refused(name, private, error.to_string())),
        };

        match self.status(&*scheme, &candidate.description) {
            Ok(status) => Ok(Entry {
                parameters: candidate.label,
                lookups: candidate.description.limits.batch,
                security_bits: candidate.description.security.map(|security| security.bits),
                failure_log2: Some(candidate.description.failure_log2)
                    .filter(|log2| log2.is_finite()),
                status,
                ..refused(name, private, String::new())
            }),
            // A refusal is a row. Any other error would hold for every scheme.
            Err(error @ (Error::Core(_) | Error::Usage { .. })) => {
                Ok(refused(name, private, error.to_string()))
            }
            Err(error) => Err(error),
        }
    }

    /// Measures the scheme, or predicts it.
    fn status(&self, scheme: &dyn ErasedScheme, description: &Description) -> Result<Status> {
        let work = &description.work;
        let threads = self.effort.threads;
        // A measurement answers once more than its runs, as a warm-up.
        let answers =
            (self.effort.runs + 1) as f64 * work.answer.seconds(&self.rates.rates, threads);
        let expected = work.setup.seconds(&self.rates.rates, threads) + answers;

        // Decided by the prediction: nothing is prepared to find out that it takes too long.
        if expected > LONGEST || !fits_memory(description) {
            return Ok(Status::Predicted(Cost::predicted(
                description,
                &self.rates.rates,
                threads,
            )));
        }

        let records = Synthetic::of(self.shape);
        let plan = Plan {
            records: &records,
            expected: &records,
            choice: self.choice,
            effort: self.effort,
        };

        self.progress.stage(description.scheme, 1);
        measure(scheme, &plan, &NoProgress)
            .map(Cost::measured)
            .map(Status::Measured)
    }
}

/// The entry of a scheme that refuses a database.
fn refused(scheme: &'static str, private: bool, reason: String) -> Entry {
    Entry {
        scheme,
        private,
        parameters: String::new(),
        lookups: 1,
        security_bits: None,
        failure_log2: None,
        status: Status::NoParameters { reason },
    }
}

impl FieldReport {
    /// True if every returned record was correct.
    pub fn correct(&self) -> bool {
        !self
            .schemes
            .iter()
            .filter_map(|entry| entry.status.cost())
            .any(|cost| cost.correct == Some(false))
    }

    /// Checks that every returned record was correct.
    ///
    /// # Errors
    /// [`Error::Wrong`].
    pub fn check(&self) -> Result<()> {
        if self.correct() {
            return Ok(());
        }
        Err(Error::Wrong {
            what: "a scheme of --all".to_owned(),
        })
    }
}
