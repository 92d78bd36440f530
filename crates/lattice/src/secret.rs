//! Secret keys of ring encryption.

use papir_ring::{CyclotomicRing, Poly, Values, Word, sample};
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use crate::params::RlweParams;
use crate::security::Secret;

/// A ring secret s, with the distribution of its parameters. Erased on drop, never printed.
pub struct SecretKey<W: Word = u32> {
    coefficients: Zeroizing<Vec<i32>>,
    values: Poly<Values, W>,
}

impl<W: Word> SecretKey<W> {
    /// Draws a fresh secret.
    pub fn generate<R: CyclotomicRing<Word = W>>(
        params: &RlweParams<R>,
        rng: &mut dyn CryptoRng,
    ) -> Self {
        let mut coefficients = Zeroizing::new(vec![0; params.ring().degree()]);
        match params.secret() {
            Secret::ErrorLike => params.error().fill(rng, &mut coefficients),
            Secret::Ternary => sample::ternary(rng, &mut coefficients),
            Secret::Binary => sample::binary(rng, &mut coefficients),
        }
        Self::from_coefficients(params, coefficients)
    }

    /// Draws secrets until one is at most as heavy as `most`, a bound on the mean square of a
    /// coefficient. The time tells how many were drawn, and nothing else about the secret.
    pub fn generate_light<R: CyclotomicRing<Word = W>>(
        params: &RlweParams<R>,
        most: f64,
        rng: &mut dyn CryptoRng,
    ) -> Self {
        loop {
            let secret = Self::generate(params, rng);
            if secret.is_light(most) {
                return secret;
            }
        }
    }

    /// Returns whether the mean square of a coefficient is at most `most`.
    pub fn is_light(&self, most: f64) -> bool {
        let squares: i64 = self
            .coefficients
            .iter()
            .map(|&c| i64::from(c) * i64::from(c))
            .sum();
        squares as f64 <= most * self.coefficients.len() as f64
    }

    /// Returns the secret with these d coefficients.
    pub fn from_coefficients<R: CyclotomicRing<Word = W>>(
        params: &RlweParams<R>,
        coefficients: Zeroizing<Vec<i32>>,
    ) -> Self {
        let ring = params.ring();
        let values = ring.forward(ring.from_signed(&coefficients));
        Self {
            coefficients,
            values,
        }
    }

    /// s as small signed coefficients.
    pub fn coefficients(&self) -> &[i32] {
        &self.coefficients
    }

    /// s in values.
    pub fn values(&self) -> &Poly<Values, W> {
        &self.values
    }
}

impl<W: Word> Drop for SecretKey<W> {
    fn drop(&mut self) {
        self.values.zeroize();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_ring::prg::SecretRng;

    use super::*;
    use crate::params::{DEFAULT_PRIMES, Literal};

    #[test]
    fn heavy_secrets_are_drawn_again() {
        let literal = Literal {
            degree: 64,
            primes: DEFAULT_PRIMES,
            sigma: 6.4,
        };
        let params = RlweParams::insecure(literal).unwrap();
        let mut rng = SecretRng::derived(&[1; 32], "test");
        let mean = 6.4 * 6.4;
        let drawn: Vec<bool> = (0..100)
            .map(|_| SecretKey::generate(&params, &mut rng).is_light(mean))
            .collect();

        assert!(drawn.contains(&true) && drawn.contains(&false));
        assert!(
            (0..100).all(|_| SecretKey::generate_light(&params, mean, &mut rng).is_light(mean))
        );
    }
}
