//! Costs of a parameter set before it is measured, or instead: memory, messages and times.

use papir_core::Description;
use papir_core::cost::{Operation, Rates};
use papir_core::scheme::Parameters;
use papir_measure::effort::Effort;
use papir_measure::report::titles;
use papir_plan::rates_file::LoadedRates;
use papir_plan::units::bytes as display;
use papir_plan::wording;
use papir_schemes::depir::simplex::Simplex;

use super::memory::memory;
use super::set::{DepirConfig, Set};
use super::sheet::SheetReport;
use crate::Result;

/// Predicted seconds of the setup and of an answer.
fn seconds(description: &Description, rates: &Rates, threads: usize) -> [f64; 2] {
    [&description.work.setup, &description.work.answer].map(|work| work.seconds(rates, threads))
}

/// Describes the costs of a measurement before it starts.
///
/// # Errors
/// The errors of the parameters.
pub fn announcement(
    config: DepirConfig<'_>,
    effort: Effort,
    loaded: &LoadedRates,
) -> Result<String> {
    let params = config.params()?;
    let description = params.describe();
    // Printed before minutes of silence, so that a measurement of the wrong set can be stopped.
    let [setup, answer] = seconds(&description, &loaded.rates, effort.threads);
    Ok(format!(
        "depir, {}: preparing it takes {}; {}; {} of memory on {} threads; rates {}",
        config.set.name(),
        wording::about(setup),
        wording::of_query(&description, answer),
        display(memory(&params, effort.threads)),
        effort.threads,
        loaded.description
    ))
}

/// The costs of a set that is not measured.
///
/// # Errors
/// The errors of the parameters.
pub fn predict(
    config: DepirConfig<'_>,
    effort: Effort,
    loaded: &LoadedRates,
) -> Result<SheetReport> {
    let params = config.params()?;
    let description = params.describe();
    let ring = params.bv().ring();
    let Simplex { variables, degree } = params.simplex();
    let [setup, answer] = seconds(&description, &loaded.rates, effort.threads);
    // Counts are printed too, because predictions are these times rates.
    let count = |operation| format!("{:.2e}", description.work.answer.times(operation));
    let sizes = description.sizes;

    let rows = [
        (
            "set",
            format!(
                "{}: {} records of 2 B",
                config.set.name(),
                description.shape.records()
            ),
        ),
        (
            "parameters",
            format!(
                "n = {}, m = {variables}, D = {degree}, log2 Q = {:.1} in {} primes, {} bits, failure 2^{:.0}",
                params.ring_degree(),
                ring.log2_modulus(),
                ring.len(),
                description.security.map_or(0.0, |security| security.bits),
                description.failure_log2
            ),
        ),
        ("threads", effort.threads.to_string()),
        ("memory", display(memory(&params, effort.threads))),
        ("database", display(sizes.database)),
        (
            "query",
            format!(
                "{} for up to {} indices",
                display(sizes.query),
                params.ring_degree()
            ),
        ),
        ("answer", display(sizes.answer)),
        ("products", count(Operation::Term)),
        ("look-ups", count(Operation::Lookup)),
        ("preprocessing", wording::about(setup)),
        ("answer time", wording::about(answer)),
        (
            "ms per index",
            format!("{:.1}", 1e3 * answer / params.ring_degree() as f64),
        ),
    ];

    Ok(SheetReport {
        name: config.set.name(),
        what: "Doubly-efficient PIR: a set that is predicted, not measured",
        notes: vec![format!(
            "Nothing was run. Times are counts of operations times rates: {}.",
            loaded.description
        )],
        columns: titles(&["quantity", "predicted"]),
        rows: rows
            .into_iter()
            .map(|(name, value)| vec![name.to_owned(), value])
            .collect(),
        correct: true,
        curves: Vec::new(),
        axes: [""; 2],
    })
}

impl Set {
    /// True for sets that are predicted only.
    pub const fn is_predicted(self) -> bool {
        matches!(self, Self::Large)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::Goal;

    use super::*;
    use crate::depir::outline::Outline;

    /// The sets of millions of records have the parameters that cost least, with at least 128 bits.
    #[test]
    fn large_sets_have_the_best_parameters() {
        for (set, records) in [(Set::Medium, 15_020_334), (Set::Large, 185_250_786)] {
            let params = set.params().unwrap();
            let outline = Outline::best(records, Goal::MinTime).unwrap();
            assert_eq!(
                (params.ring_degree(), params.simplex()),
                (outline.ring_degree, outline.simplex)
            );

            let description = params.describe();
            assert_eq!(
                (
                    description.shape.records(),
                    description.shape.record_bytes()
                ),
                (records, 2)
            );
            assert!(
                description.security.unwrap().bits >= 128.0 && description.failure_log2 <= -40.0
            );
        }
    }
}
