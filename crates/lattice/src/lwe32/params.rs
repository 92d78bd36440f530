//! The parameter set, checked, and the tables of its products.

use papir_ring::Ring;
use papir_ring::sample::Gaussian;

use crate::params::{DEFAULT_PRIMES, ParamsError};
use crate::security::{self, Row, Secret};

/// The dimension n: a block's rows, and words of a row of A.
pub const N: usize = 1024;
/// log₂ of the modulus q.
pub const LOG2_Q: u32 = 32;
/// The standard deviation of errors and secrets.
pub const SIGMA: f64 = 11.0;

/// n = 1024, q = 2³², secret drawn like the error, σ = 11: 128.4 bits.
#[derive(Clone, Debug)]
pub struct LweParams {
    /// Two primes, to compute products over the integers.
    ring: Ring,
    error: Gaussian,
    security: &'static Row,
}

impl LweParams {
    /// Checks the set against the security table and builds the tables.
    ///
    /// # Errors
    /// [`ParamsError`].
    pub fn new() -> Result<Self, ParamsError> {
        let security = security::require_128(N, f64::from(LOG2_Q), Secret::ErrorLike, SIGMA)?;
        Ok(Self { ring: Ring::new(N, DEFAULT_PRIMES)?, error: Gaussian::new(SIGMA)?, security })
    }

    /// The ring of the products: of degree n, modulo both primes.
    pub(super) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The distribution of secrets and errors. No sample exceeds [`super::MAX_SMALL`], so that a product of
    /// a mask and a secret is exact.
    pub(super) fn error(&self) -> &Gaussian {
        &self.error
    }

    /// The row of the security table.
    pub fn security(&self) -> &'static Row {
        self.security
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::lwe32::MAX_SMALL;

    #[test]
    fn the_set_is_secure_and_its_samples_are_small() {
        let params = LweParams::new().unwrap();
        assert!(params.security().matzov >= 128.0);
        assert_eq!((params.security().n, params.security().sigma), (N, SIGMA));
        let bound = Gaussian::new(SIGMA).unwrap().bound();
        assert!((90..=120).contains(&bound) && bound as u64 <= MAX_SMALL, "bound {bound}");
    }
}
