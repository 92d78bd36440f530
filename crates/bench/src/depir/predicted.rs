//! Costs of a parameter set before it is measured, or instead: memory, messages and times.

use papir_core::Description;
use papir_core::cost::{Operation, Rates};
use papir_core::scheme::Parameters;
use papir_plan::cost;
use papir_plan::rates_file::LoadedRates;
use papir_plan::units::bytes as display;
use papir_schemes::depir::params::DepirParams;
use papir_schemes::depir::simplex::{Simplex, terms};

use super::set::{Config, Set};
use super::sheet::SheetReport;
use crate::Result;
use crate::effort::Effort;
use crate::prepared::check_needed;
use crate::report::titles;

/// Memory of the program itself and of small buffers.
const OTHER_BYTES: u64 = 32 << 20;

/// Bytes of memory that a measurement needs on this many threads.
///
/// On lines, each thread evaluates a contraction of f modulo another prime. It has the contraction's
/// coefficients twice, the second time in the form that the kernel reads.
pub(super) fn memory(params: &DepirParams, threads: usize) -> u64 {
    let description = params.describe();
    let (ring, Simplex { variables, degree }) = (params.bv().ring(), params.simplex());
    let contracted = threads.min(ring.len()) * 8 * terms(variables - 1, degree);
    // As bytes, bodies, masks, starts and slopes; values before and after interpolation and in an answer.
    let words = ring.len() * params.ring_degree();
    let query = 4 * words * 5 * variables + 4 * words * 4 * (degree + 1);
    // Records as stored, as read and as entries.
    let records = 3 * description.shape.total_bytes();
    description.sizes.database + records + (contracted + query) as u64 + OTHER_BYTES
}

/// Refuses parameters that need more than the free memory.
///
/// # Errors
/// [`crate::Error::Usage`].
pub(super) fn check_memory(params: &DepirParams, threads: usize) -> Result<()> {
    check_needed("depir", memory(params, threads))
}

/// Predicted seconds of the setup and of an answer.
fn seconds(description: &Description, rates: &Rates, threads: usize) -> [f64; 2] {
    [&description.work.setup, &description.work.answer].map(|work| work.seconds(rates, threads))
}

/// A sentence on what a measurement costs, said before it starts.
///
/// # Errors
/// The errors of the parameters.
pub fn announcement(config: Config<'_>, effort: Effort, loaded: &LoadedRates) -> Result<String> {
    let params = config.params()?;
    let description = params.describe();
    let [setup, answer] = seconds(&description, &loaded.rates, effort.threads);
    Ok(format!(
        "depir, {}: preparing it takes {}; {}; {} of memory on {} threads; rates {}",
        config.set.name(),
        cost::about(setup),
        cost::of_query(&description, answer),
        display(memory(&params, effort.threads)),
        effort.threads,
        loaded.description
    ))
}

/// The costs of a set that is not measured.
///
/// # Errors
/// The errors of the parameters.
pub fn predict(config: Config<'_>, effort: Effort, loaded: &LoadedRates) -> Result<SheetReport> {
    let params = config.params()?;
    let description = params.describe();
    let (ring, Simplex { variables, degree }) = (params.bv().ring(), params.simplex());
    let [setup, answer] = seconds(&description, &loaded.rates, effort.threads);
    let count = |operation| format!("{:.2e}", description.work.answer.times(operation));
    let sizes = description.sizes;
    let rows = [
        ("set", format!("{}: {} records of 2 B", config.set.name(), description.shape.records())),
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
        ("query", format!("{} for up to {} indices", display(sizes.query), params.ring_degree())),
        ("answer", display(sizes.answer)),
        ("products", count(Operation::Term)),
        ("look-ups", count(Operation::Lookup)),
        ("preprocessing", cost::about(setup)),
        ("answer time", cost::about(answer)),
        ("ms per index", format!("{:.1}", 1e3 * answer / params.ring_degree() as f64)),
    ];
    Ok(SheetReport {
        name: config.set.name(),
        what: "Doubly-efficient PIR: a set that is predicted, not measured",
        notes: vec![format!(
            "Nothing was run. Times are counts of operations times rates: {}.",
            loaded.description
        )],
        columns: titles(&["quantity", "predicted"]),
        rows: rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect(),
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
    use papir_schemes::depir::outline::Outline;

    use super::*;

    /// The sets of millions of records have the parameters that cost least, with at least 128 bits.
    #[test]
    fn large_sets_have_the_best_parameters() {
        for (set, records) in [(Set::Medium, 15_020_334), (Set::Large, 185_250_786)] {
            let params = set.params().unwrap();
            let outline = Outline::best(records, Goal::MinTime).unwrap();
            assert_eq!((params.ring_degree(), params.simplex()), (outline.ring_degree, outline.simplex));
            let description = params.describe();
            assert_eq!((description.shape.records(), description.shape.record_bytes()), (records, 2));
            assert!(description.security.unwrap().bits >= 128.0 && description.failure_log2 <= -40.0);
        }
    }

    #[test]
    fn sets_that_exceed_the_memory_are_refused() {
        let params = Set::Medium.params().unwrap();
        assert!(memory(&params, 2) - memory(&params, 1) >= 8 * 13_983_816);
        let Some(free) = papir_store::free_memory() else { return };
        assert!(check_memory(&Set::Least.params().unwrap(), 1).is_ok());
        let error = check_needed("depir", 2 * free).unwrap_err().to_string();
        assert!(error.contains("depir needs") && error.contains("of free memory"), "{error}");
    }
}
