//! Secret keys.

use papir_ring::{Poly, Values};
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use crate::params::RlweParams;

/// A ring secret s with coefficients drawn like the error. Erased on drop, never printed.
pub struct SecretKey {
    coefficients: Zeroizing<Vec<i32>>,
    values: Poly<Values>,
}

impl SecretKey {
    /// A fresh secret.
    pub fn generate(params: &RlweParams, rng: &mut dyn CryptoRng) -> Self {
        let ring = params.ring();
        let mut coefficients = Zeroizing::new(vec![0; ring.degree()]);
        params.error().fill(rng, &mut coefficients);
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
