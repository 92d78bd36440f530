//! Every scheme on one database.
//!
//! A scheme of the registry needs no further code to appear. A scheme that refuses the database has
//! a row with the reason. A scheme that would take more than ten minutes or too much memory is
//! predicted.

mod write;

use papir_core::erased::ErasedScheme;
use papir_core::{
    Candidate, Choice, Description, Error as CoreError, NoProgress, Privacy, Progress, Shape,
};
use papir_plan::rates_file::LoadedRates;
use serde::Serialize;

use crate::cost::{Cost, Status};
use crate::effort::{Effort, MeasurementPlan};
use crate::measure::measure;
use crate::memory::fits_memory;
use crate::records::Synthetic;
use crate::{Error, Result, schemes};

/// Number of seconds of a measurement from which a scheme is predicted instead.
const LONGEST: f64 = 600.0;

/// Row of a scheme on the database.
#[derive(Clone, Debug, Serialize)]
pub struct FieldEntry {
    /// Name of the scheme.
    pub scheme: &'static str,
    /// False for a scheme that does not hide the looked-up index.
    pub private: bool,
    /// Label of the parameters.
    pub parameters: String,
    /// Largest number of lookups in a query.
    pub lookups: usize,
    /// Estimated security in bits, or null if the scheme encrypts nothing.
    pub security_bits: Option<f64>,
    /// log₂ of the probability that an answer does not decode, or null if every answer decodes.
    pub failure_log2: Option<f64>,
    /// Costs of the scheme, or the reason that there are none.
    #[serde(flatten)]
    pub status: Status,
}

/// A row that a paper prints for the database.
#[derive(Clone, Debug, Serialize)]
pub struct PrintedRow {
    /// Paper and number of the table.
    pub table: &'static str,
    /// Name of the scheme in the paper.
    pub scheme: &'static str,
    /// Sum of keys, query and download, in KB of 1024 bytes.
    pub total_kib: f64,
    /// Server time in milliseconds, on the paper's machine.
    pub server_ms: f64,
}

/// All schemes on one database.
#[derive(Clone, Debug, Serialize)]
pub struct FieldReport {
    /// Number of records.
    pub records: u64,
    /// Bits of a record.
    pub record_bits: u64,
    /// Number of threads for setup and answers.
    pub threads: usize,
    /// Name of the kernels' backend.
    pub backend: &'static str,
    /// Origin of the rates used for predictions.
    pub rates: String,
    /// Rows of the schemes, in the order of the registry.
    pub schemes: Vec<FieldEntry>,
    /// Rows that papers print for this database, or `None` if papir-papers does not add them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub papers: Option<Vec<PrintedRow>>,
}

/// Measures or predicts every scheme of the registry.
///
/// # Errors
/// Errors of the measurement that are not a scheme's refusal; [`Error::Usage`] for threads, runs or
/// clients out of range.
pub fn measure_all(
    shape: Shape,
    choice: Choice,
    effort: Effort,
    rates: &LoadedRates,
    progress: &dyn Progress,
) -> Result<FieldReport> {
    // Before the schemes: a wrong number of threads would look like a refusal of every one.
    effort.check()?;

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
    fn entry(&self, name: &'static str) -> Result<FieldEntry> {
        let scheme = schemes::by_name(name)?;
        let private = scheme.properties().privacy == Privacy::Private;

        let found = self.measured(&*scheme, name, private);
        found.or_else(|error| refusal(name, private, error))
    }

    /// The entry of a scheme that accepts the database.
    fn measured(
        &self,
        scheme: &dyn ErasedScheme,
        name: &'static str,
        private: bool,
    ) -> Result<FieldEntry> {
        let Candidate {
            description, label, ..
        } = schemes::candidate(scheme, self.shape, self.choice)?;
        let status = self.status(scheme, &description)?;

        Ok(FieldEntry {
            scheme: name,
            private,
            parameters: label,
            lookups: description.limits.batch,
            security_bits: description.security.map(|security| security.bits),
            failure_log2: Some(description.failure_log2).filter(|log2| log2.is_finite()),
            status,
        })
    }

    /// Measures the scheme, or predicts its costs if a measurement would take too long or too much
    /// memory.
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
        let plan = MeasurementPlan {
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

/// The entry of a scheme that refuses the database; any other error is returned.
fn refusal(scheme: &'static str, private: bool, error: Error) -> Result<FieldEntry> {
    // A damaged answer or a failed read is a fault, and must not read as a property of the scheme.
    if !is_refusal(&error) {
        return Err(error);
    }

    Ok(FieldEntry {
        scheme,
        private,
        parameters: String::new(),
        lookups: 1,
        security_bits: None,
        failure_log2: None,
        status: Status::NoParameters {
            reason: error.to_string(),
        },
    })
}

/// Returns whether a scheme refuses a database or an option by this error.
fn is_refusal(error: &Error) -> bool {
    match error {
        // An option that the scheme does not have, or more memory than is free.
        Error::Usage { .. } => true,
        Error::Core(error) => matches!(
            error,
            CoreError::Parameters { .. }
                | CoreError::NoSuchParameter { .. }
                | CoreError::OutOfBounds { .. }
                | CoreError::Insecure { .. }
        ),
        _ => false,
    }
}

impl FieldReport {
    /// Returns true if every returned record was correct.
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
    /// [`Error::Wrong`] if a record was wrong.
    pub fn check(&self) -> Result<()> {
        if self.correct() {
            return Ok(());
        }
        Err(Error::Wrong {
            what: "a scheme of --all".to_owned(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refusal_of_the_database_is_a_row() {
        let parameters = CoreError::Parameters {
            scheme: "inspire",
            reason: "no such columns".to_owned(),
        };
        let options = Error::usage("--dim0 with plain", "none");
        for error in [Error::from(parameters), options] {
            let reason = error.to_string();
            let entry = refusal("inspire", true, error).unwrap();
            assert!(
                matches!(&entry.status, Status::NoParameters { reason: found } if *found == reason)
            );
        }

        let faults = [
            CoreError::NotDecodable,
            CoreError::Checksum {
                what: "an answer".to_owned(),
            },
            CoreError::Io {
                what: "reading records".to_owned(),
                source: std::io::ErrorKind::UnexpectedEof.into(),
            },
        ];
        for fault in faults {
            let expected = fault.to_string();
            let found = refusal("inspire", true, fault.into()).unwrap_err();
            assert_eq!(found.to_string(), expected);
        }
    }

    #[test]
    fn a_wrong_number_of_threads_is_not_a_refusal_of_every_scheme() {
        let shape = Shape::of_bytes(16, 64).unwrap();
        let rates = LoadedRates {
            rates: papir_core::cost::Rates::BUILT_IN,
            origin: "built in",
            description: String::new(),
            device: None,
        };

        let choice = Choice::Goal(papir_core::Goal::Balanced);
        let effort = Effort::alone(0, 1);
        let error = measure_all(shape, choice, effort, &rates, &NoProgress).unwrap_err();
        assert!(matches!(error, Error::Usage { .. }), "{error}");
    }
}
