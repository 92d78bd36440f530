//! Secret keys of ring encryption.

use papir_ring::{Poly, Values, sample};
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use crate::params::RlweParams;
use crate::security::Secret;

/// A ring secret s, with the distribution of its parameters. Erased on drop, never printed.
pub struct SecretKey {
    coefficients: Zeroizing<Vec<i32>>,
    values: Poly<Values>,
}

impl SecretKey {
    /// Draws a fresh secret.
    pub fn generate(params: &RlweParams, rng: &mut dyn CryptoRng) -> Self {
        let mut coefficients = Zeroizing::new(vec![0; params.ring().degree()]);
        match params.secret() {
            Secret::ErrorLike => params.error().fill(rng, &mut coefficients),
            Secret::Ternary => sample::ternary(rng, &mut coefficients),
            Secret::Binary => sample::binary(rng, &mut coefficients),
        }
        Self::from_coefficients(params, coefficients)
    }

    /// Returns the secret with these d coefficients.
    pub fn from_coefficients(params: &RlweParams, coefficients: Zeroizing<Vec<i32>>) -> Self {
        let ring = params.ring();
        let values = ring.forward(ring.from_signed(&coefficients));
        Self { coefficients, values }
    }

    /// s as small signed coefficients.
    pub fn coefficients(&self) -> &[i32] {
        &self.coefficients
    }

    /// s in values.
    pub fn values(&self) -> &Poly<Values> {
        &self.values
    }
}

impl Drop for SecretKey {
    fn drop(&mut self) {
        self.values.zeroize();
    }
}
