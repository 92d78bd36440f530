//! Checked BV parameters.

use papir_ring::rns::RnsRing;
use papir_ring::sample::Gaussian;

use crate::params::ParamsError;
use crate::security::{self, Row, Secret};

/// The plaintext modulus t, 1 modulo 2n for all degrees up to 2¹⁵, so that plaintexts have n slots.
pub const PLAINTEXT: u32 = 65_537;
/// Largest n whose plaintexts split into n slots.
pub const MAX_DEGREE: usize = 1 << 15;
/// Standard deviation of the error; the secret is ternary.
pub const SIGMA: f64 = 3.2;

/// Checked parameters: ring, error distribution and row of the security table.
#[derive(Clone, Debug)]
pub struct BvParams {
    ring: RnsRing,
    error: Gaussian,
    security: Option<&'static Row>,
}

impl BvParams {
    /// Checks degree n and the primes of Q against the security table.
    ///
    /// # Errors
    /// [`ParamsError`].
    pub fn new(degree: usize, primes: &[u32]) -> Result<Self, ParamsError> {
        let mut params = Self::insecure(degree, primes)?;
        let log2_q = params.ring.log2_modulus();
        params.security = Some(security::require_128(
            degree,
            log2_q,
            Secret::Ternary,
            SIGMA,
        )?);
        Ok(params)
    }

    /// Builds parameters without a security check, for tests at small degrees.
    ///
    /// # Errors
    /// [`ParamsError::Ring`] or [`ParamsError::PlaintextPrime`].
    pub fn insecure(degree: usize, primes: &[u32]) -> Result<Self, ParamsError> {
        // Errors are multiples of t, so modulo t a body would reveal mask times secret. Primes may
        // come from a server.
        if primes.contains(&PLAINTEXT) {
            return Err(ParamsError::PlaintextPrime(PLAINTEXT));
        }
        let ring = RnsRing::new(degree, primes)?;
        Ok(Self {
            ring,
            error: Gaussian::new(SIGMA)?,
            security: None,
        })
    }

    /// R_Q.
    pub fn ring(&self) -> &RnsRing {
        &self.ring
    }

    /// Distribution of errors.
    pub(super) fn error(&self) -> &Gaussian {
        &self.error
    }

    /// The covering row of the security table; `None` for insecure parameters.
    pub fn security(&self) -> Option<&'static Row> {
        self.security
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_ring::prime::ntt_primes;

    use super::*;

    #[test]
    fn plaintext_modulus_is_refused_as_a_ciphertext_prime() {
        let mut primes = ntt_primes(27, 1 << 12, 3);

        assert_eq!(
            BvParams::new(1 << 12, &primes)
                .unwrap()
                .security()
                .unwrap()
                .matzov,
            128.9
        );
        primes.push(PLAINTEXT);
        assert!(matches!(
            BvParams::new(1 << 12, &primes),
            Err(ParamsError::PlaintextPrime(PLAINTEXT))
        ));
        let many = ntt_primes(28, 1 << 12, 4);
        assert!(matches!(
            BvParams::new(1 << 12, &many),
            Err(ParamsError::Insecure(_))
        ));
    }
}
