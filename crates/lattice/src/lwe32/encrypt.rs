//! Encryption of unit vectors, n entries for each ring product.

use papir_ring::{CyclotomicRing, Poly, Values};
use rand_core::CryptoRng;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use super::masks::Masks;
use super::params::{LOG2_Q, LweParams};
use super::words::round_random_ties;
use crate::security::Secret;

/// A unit vector to encrypt.
#[derive(Clone, Copy)]
pub struct UnitVector {
    /// Position of the one. Secret.
    pub selected: u64,
    /// Its length.
    pub length: usize,
    /// log₂ of Δ, the value of the one.
    pub log2_delta: u32,
}

impl LweParams {
    /// Draws Gaussian words modulo q.
    fn noise(&self, rng: &mut dyn CryptoRng, count: usize) -> Zeroizing<Vec<u32>> {
        let mut words = Zeroizing::new(vec![0; count]);
        // A negative sample has the bits of its word modulo q = 2³².
        self.error()
            .fill(rng, bytemuck::cast_slice_mut(words.as_mut_slice()));
        words
    }

    /// Draws a secret s of n words.
    pub fn key(&self, rng: &mut dyn CryptoRng) -> Zeroizing<Vec<u32>> {
        match self.secret() {
            Secret::Binary => self.bits(rng),
            Secret::Ternary | Secret::ErrorLike => self.noise(rng, self.n()),
        }
    }

    /// Draws n words, 0 or 1.
    fn bits(&self, rng: &mut dyn CryptoRng) -> Zeroizing<Vec<u32>> {
        let mut bytes = Zeroizing::new(vec![0u8; self.n()]);
        rng.fill_bytes(&mut bytes);
        Zeroizing::new(bytes.iter().map(|byte| u32::from(byte & 1)).collect())
    }

    /// Returns b = A·s + e + Δ·u, rounded with random ties to its leading `bits` bits (1 to 32).
    /// The time does not depend on the unit vector.
    pub fn encrypt(
        &self,
        masks: &Masks,
        key: &[u32],
        unit: UnitVector,
        bits: u32,
        rng: &mut dyn CryptoRng,
    ) -> Vec<u32> {
        let degree = self.ring().degree();
        // Errors are secret: every entry draws one, and every entry is compared with the position.
        let errors = self.noise(rng, unit.length);
        let mut ties = Zeroizing::new(vec![0; unit.length]);
        rng.fill_bytes(&mut ties);

        let key = self.transform(key);
        let mut bodies = Vec::with_capacity(unit.length);

        for (block, (errors, ties)) in errors.chunks(degree).zip(ties.chunks(degree)).enumerate() {
            let products = self.inner_products(|k| masks.block(block, k), &key);
            for (i, ((product, error), tie)) in products.iter().zip(errors).zip(ties).enumerate() {
                let is_selected = ((block * degree + i) as u64).ct_eq(&unit.selected);
                let selected = u32::conditional_select(&0, &(1 << unit.log2_delta), is_selected);
                // The product is exact over the integers, so the cast reduces it modulo q = 2³².
                let body = (*product as u32)
                    .wrapping_add(*error)
                    .wrapping_add(selected);
                bodies.push(round_random_ties(body, LOG2_Q - bits, *tie));
            }
        }

        bodies
    }

    /// Returns the ring elements of s in values.
    fn transform(&self, key: &[u32]) -> Zeroizing<Vec<Poly<Values>>> {
        let ring = self.ring();
        let elements = key.chunks_exact(ring.degree()).map(|key| {
            let mut small = Zeroizing::new(vec![0; ring.degree()]);
            // Words of a key are small numbers modulo q: read as signed words they are the
            // coefficients.
            small.copy_from_slice(bytemuck::cast_slice(key));
            ring.forward(ring.from_signed(&small))
        });
        Zeroizing::new(elements.collect())
    }

    /// Returns Σₖ aₖ·sₖ over the integers, which reveals s; `mask` returns aₖ.
    fn inner_products(
        &self,
        mask: impl Fn(usize) -> Vec<i32>,
        key: &[Poly<Values>],
    ) -> Zeroizing<Vec<i64>> {
        let ring = self.ring();
        let mut sum = Zeroizing::new(ring.zero::<Values>());
        for (k, key) in key.iter().enumerate() {
            let product = Zeroizing::new(ring.mul(&ring.forward(ring.from_signed(&mask(k))), key));
            ring.add_assign(&mut sum, &product);
        }

        // `inverse` transforms the copy in place, so both polynomials are erased on drop.
        let sum = Zeroizing::new(ring.inverse(Poly::clone(&sum)));
        Zeroizing::new(ring.to_centred(&sum))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::lwe32::{MODULE_SIGMA, N, SIGMA, dot, rounding_square};
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;
    use papir_ring::prg::Seed;

    const MASKS: Masks = Masks::new(Seed([5; 32]), "test");

    /// Returns bodies minus masks times key minus the unit vector.
    fn errors(masks: &Masks, bodies: &[u32], bits: u32, key: &[u32], unit: UnitVector) -> Vec<i32> {
        let mut row = vec![0; key.len()];
        let error = |(i, body): (usize, &u32)| {
            masks.row(i, &mut row);
            let selected = if i as u64 == unit.selected {
                1 << unit.log2_delta
            } else {
                0
            };
            (body << (LOG2_Q - bits))
                .wrapping_sub(dot(&row, key))
                .wrapping_sub(selected) as i32
        };
        bodies.iter().enumerate().map(error).collect()
    }

    #[test]
    fn bodies_encrypt_the_unit_vector_with_bounded_errors() {
        let params = LweParams::new().unwrap();
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        for (length, selected) in [
            (1, 0),
            (1000, 999),
            (N, 1),
            (3000, 2047),
            (3000, 2048),
            (3000, 5000),
        ] {
            let key = params.key(&mut rng);
            let unit = UnitVector {
                selected,
                length,
                log2_delta: 24,
            };
            for bits in [32, 25] {
                let bodies = params.encrypt(&MASKS, &key, unit, bits, &mut rng);
                assert_eq!(bodies.len(), length);
                let errors = errors(&MASKS, &bodies, bits, &key, unit);
                let most = params.error().bound() + ((1 << (LOG2_Q - bits)) >> 1);
                assert!(
                    errors.iter().all(|error| error.abs() <= most),
                    "{length}, {selected}, {bits} bits"
                );
                let square =
                    errors.iter().map(|e| f64::from(*e).powi(2)).sum::<f64>() / length as f64;
                let expected = SIGMA * SIGMA + rounding_square(LOG2_Q - bits);
                assert!(
                    length < 1000 || (square / expected - 1.0).abs() < 0.2,
                    "{square}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn module_masks_encrypt_under_a_binary_key() {
        const MODULE: Masks = Masks::module(Seed([6; 32]), "test");
        let params = LweParams::binary().unwrap();
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        let key = params.key(&mut rng);

        assert_eq!(key.len(), params.n());
        let ones = key.iter().filter(|word| **word == 1).count();
        assert!(
            key.iter().all(|word| *word <= 1) && (450..=830).contains(&ones),
            "{ones} ones"
        );
        for (length, selected) in [(1, 0), (2000, 1999), (2000, 256)] {
            let unit = UnitVector {
                selected,
                length,
                log2_delta: 24,
            };
            let bodies = params.encrypt(&MODULE, &key, unit, LOG2_Q, &mut rng);
            let errors = errors(&MODULE, &bodies, LOG2_Q, &key, unit);
            assert!(
                errors
                    .iter()
                    .all(|error| error.abs() <= params.error().bound()),
                "{length}, {selected}"
            );
            let square = errors.iter().map(|e| f64::from(*e).powi(2)).sum::<f64>() / length as f64;
            assert!(
                length < 1000 || (square / MODULE_SIGMA.powi(2) - 1.0).abs() < 0.2,
                "{square}"
            );
        }
    }

    #[test]
    fn products_with_the_largest_secret_are_exact() {
        let params = LweParams::new().unwrap();
        for value in [255i32, -255] {
            let key = params.transform(&[value as u32; N]);
            let products = params.inner_products(|_| vec![i32::MIN; N], &key);
            let expected = |c: i64| i64::from(value) * -(1i64 << 31) * (2 * (c + 1) - N as i64);
            assert!(
                products
                    .iter()
                    .zip(0..)
                    .all(|(product, c)| *product == expected(c))
            );
        }
    }
}
