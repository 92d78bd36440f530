//! Memory that measuring a parameter set needs.

use papir_core::scheme::Parameters;
use papir_measure::memory::check_needed;
use papir_schemes::depir::params::DepirParams;
use papir_schemes::depir::simplex::{Simplex, terms};

use crate::Result;

/// Memory of the program itself and of small buffers.
const OTHER_BYTES: u64 = 32 << 20;

/// Bytes of memory that a measurement needs on `threads` threads.
///
/// On lines, each thread evaluates a contraction of f modulo another prime. It has the
/// contraction's coefficients twice, the second time in the form that the kernel reads.
pub(super) fn memory(params: &DepirParams, threads: usize) -> u64 {
    let description = params.describe();
    let ring = params.bv().ring();
    let Simplex { variables, degree } = params.simplex();

    // More threads than primes have nothing to evaluate.
    let contracted = threads.min(ring.len()) * 8 * terms(variables - 1, degree);

    // As bytes, bodies, masks, starts and slopes; values before and after interpolation and in an
    // answer.
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::depir::set::Set;

    #[test]
    fn sets_that_exceed_the_memory_are_refused() {
        let params = Set::Medium.params().unwrap();
        assert!(memory(&params, 2) - memory(&params, 1) >= 8 * 13_983_816);

        let Some(free) = papir_store::free_memory() else {
            return;
        };

        assert!(check_memory(&Set::Least.params().unwrap(), 1).is_ok());
        let error = check_needed("depir", 2 * free).unwrap_err().to_string();
        assert!(
            error.contains("depir needs") && error.contains("of free memory"),
            "{error}"
        );
    }
}
