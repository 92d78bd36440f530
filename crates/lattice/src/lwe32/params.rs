//! Checked LWE parameters modulo 2³².

use papir_ring::sample::Gaussian;
use papir_ring::{CyclotomicRing, Ring};

use crate::params::{DEFAULT_PRIMES, ParamsError};
use crate::security::{self, Row, Secret};

/// The dimension n: rows of a block and words of a row of A.
pub const N: usize = 1024;
/// log₂ of the modulus q.
pub const LOG2_Q: u32 = 32;
/// Standard deviation of errors and secrets.
pub const SIGMA: f64 = 11.0;

/// Ring degree under [`LweParams::binary`].
pub const MODULE_DEGREE: usize = 256;
/// Ring elements of a key under [`LweParams::binary`].
pub const MODULE_RANK: usize = 5;
/// Standard deviation of errors under [`LweParams::binary`].
pub const MODULE_SIGMA: f64 = 6.4;

/// Largest absolute value of a small coefficient.
pub const MAX_SMALL: u64 = 255;
/// Products of small polynomials and masks that are summed before a reduction modulo q.
pub const MAX_BLOCKS: usize = {
    let half = DEFAULT_PRIMES[0] as u64 * DEFAULT_PRIMES[1] as u64 / 2;
    (half / ((N as u64 * MAX_SMALL) << (LOG2_Q - 1))) as usize
};
// A 64-bit sum holds 256 products of residues below 2²⁸.
const _: () = assert!(MAX_BLOCKS >= 1 && MAX_BLOCKS <= 256);

/// Checked parameters: dimension, secret, error, and the ring of the products.
#[derive(Clone, Debug)]
pub struct LweParams {
    /// Multiplies masks by short polynomials. Its two primes exceed the products over the
    /// integers, so that these are exact before they are reduced modulo 2³².
    ring: Ring,
    rank: usize,
    error: Gaussian,
    security: &'static Row,
}

impl LweParams {
    /// n = 1024 in one ring element, q = 2³², error-like secret, σ = 11: 128.4 bits.
    ///
    /// # Errors
    /// [`ParamsError`].
    pub fn new() -> Result<Self, ParamsError> {
        Self::checked(N, 1, Secret::ErrorLike, SIGMA)
    }

    /// n = 5·256 in a module, q = 2³², binary secret, σ = 6.4: 131.3 bits.
    ///
    /// # Errors
    /// [`ParamsError`].
    pub fn binary() -> Result<Self, ParamsError> {
        Self::checked(MODULE_DEGREE, MODULE_RANK, Secret::Binary, MODULE_SIGMA)
    }

    /// Checks a set against the security table; n = degree·rank.
    fn checked(
        degree: usize,
        rank: usize,
        secret: Secret,
        sigma: f64,
    ) -> Result<Self, ParamsError> {
        let security = security::require_128(degree * rank, f64::from(LOG2_Q), secret, sigma)?;
        Ok(Self {
            ring: Ring::new(degree, DEFAULT_PRIMES)?,
            rank,
            error: Gaussian::new(sigma)?,
            security,
        })
    }

    /// n, the words of a key and of a row of A.
    pub fn n(&self) -> usize {
        self.ring.degree() * self.rank
    }

    /// The ring in which masks are multiplied by short polynomials over the integers.
    pub(super) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Ring elements of a key.
    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    /// Distribution of errors and of error-like secrets. No sample exceeds [`MAX_SMALL`], so
    /// products of masks and secrets are exact.
    pub(super) fn error(&self) -> &Gaussian {
        &self.error
    }

    /// Distribution of secrets.
    pub fn secret(&self) -> Secret {
        self.security.secret
    }

    /// The covering row of the security table.
    pub fn security(&self) -> &'static Row {
        self.security
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn error_like_parameters_are_secure_and_samples_are_small() {
        let params = LweParams::new().unwrap();

        assert!(params.security().matzov >= 128.0);
        assert_eq!((params.security().n, params.security().sigma), (N, SIGMA));
        let bound = Gaussian::new(SIGMA).unwrap().bound();
        assert!(
            (90..=120).contains(&bound) && bound as u64 <= MAX_SMALL,
            "bound {bound}"
        );
    }

    #[test]
    fn binary_parameters_dominate_their_security_row() {
        let params = LweParams::binary().unwrap();
        let row = params.security();
        assert!(row.matzov >= 128.0 && row.secret == Secret::Binary);
        assert!(row.n <= params.n() && params.n() == 1280 && row.sigma <= MODULE_SIGMA);
    }
}
