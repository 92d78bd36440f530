//! Regev encryption modulo q = 2³², as both levels use it: of a unit vector, under the rows of a
//! public matrix as masks.

use papir_core::{Error, Result};
use papir_ring::prg::{SecretRng, Seed};
use papir_ring::sample::Gaussian;
use rand_core::Rng;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use super::Double;
use papir_core::scheme::Scheme;

/// The LWE dimension n.
pub(crate) const N: usize = 1024;
/// log₂ of the modulus q.
pub(crate) const LOG2_Q: u32 = 32;
/// The standard deviation of errors and secrets.
pub(crate) const SIGMA: f64 = 11.0;

/// A public matrix with rows of n uniform words, each row a stream of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Masks {
    seed: Seed,
    label: &'static str,
}

/// A_1: its rows belong to the columns of D.
pub(crate) fn first_masks(seed: Seed) -> Masks {
    Masks { seed, label: "double/first" }
}

/// A_2: its rows belong to the units of a column of D.
pub(crate) fn second_masks(seed: Seed) -> Masks {
    Masks { seed, label: "double/second" }
}

impl Masks {
    /// One row of n words.
    pub(crate) fn row(&self, index: usize, out: &mut [u32]) {
        self.seed.expand(self.label, index as u64).uniform_bits(out);
    }
}

/// Draws secrets and encrypts.
pub(crate) struct Encryptor {
    gaussian: Gaussian,
}

/// A unit vector to encrypt.
#[derive(Clone, Copy)]
pub(crate) struct UnitVector {
    /// Where the one is. Secret.
    pub(crate) selected: u64,
    /// Its length.
    pub(crate) length: usize,
    /// log₂ of what the one is multiplied by, Δ.
    pub(crate) log2_delta: u32,
}

impl Encryptor {
    /// With noise of [`SIGMA`].
    ///
    /// # Errors
    /// [`Error::Parameters`] when there is no such sampler.
    pub(crate) fn new() -> Result<Self> {
        let gaussian = Gaussian::new(SIGMA)
            .map_err(|error| Error::Parameters { scheme: Double::NAME, reason: error.to_string() })?;
        Ok(Self { gaussian })
    }

    /// Fresh Gaussian words modulo q.
    fn noise(&self, rng: &mut SecretRng, count: usize) -> Zeroizing<Vec<u32>> {
        let mut words = Zeroizing::new(vec![0; count]);
        self.gaussian.fill(rng, bytemuck::cast_slice_mut(words.as_mut_slice()));
        words
    }

    /// A fresh secret s of n words.
    pub(crate) fn key(&self, rng: &mut SecretRng) -> Zeroizing<Vec<u32>> {
        self.noise(rng, N)
    }

    /// b = A·s + e + Δ·u, rounded to its leading `bits`. Every entry is treated alike.
    pub(crate) fn encrypt(
        &self,
        masks: &Masks,
        key: &[u32],
        unit: UnitVector,
        bits: u32,
        rng: &mut SecretRng,
    ) -> Vec<u32> {
        let errors = self.noise(rng, unit.length);
        let mut ties = Zeroizing::new(vec![0; unit.length]);
        rng.fill_bytes(&mut ties);
        let mut row = vec![0; N];
        let encrypt_one = |(i, (error, tie)): (usize, (&u32, &u8))| {
            masks.row(i, &mut row);
            let is_selected = (i as u64).ct_eq(&unit.selected);
            let selected = u32::conditional_select(&0, &(1 << unit.log2_delta), is_selected);
            let body = dot(&row, key).wrapping_add(*error).wrapping_add(selected);
            round_fairly(body, LOG2_Q - bits, *tie)
        };
        errors.iter().zip(ties.iter()).enumerate().map(encrypt_one).collect()
    }
}

/// Drops low bits, rounding to nearest; the lowest bit of `tie` says where the middle goes. Without
/// it the rounding errors would have a mean, which a database of equal words adds up.
fn round_fairly(word: u32, dropped: u32, tie: u8) -> u32 {
    let down = u32::from(tie & 1) & u32::from(dropped > 0);
    word.wrapping_add((1 << dropped) >> 1).wrapping_sub(down) >> dropped
}

/// Drops low bits, rounding to nearest.
pub(crate) fn round(word: u32, dropped: u32) -> u32 {
    word.wrapping_add((1 << dropped) >> 1) >> dropped
}

/// Inner product modulo q.
pub(crate) fn dot(a: &[u32], b: &[u32]) -> u32 {
    a.iter().zip(b).fold(0, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b)))
}

/// Adds `factor` · `row` modulo q.
pub(crate) fn add_multiple(sums: &mut [u32], row: &[u32], factor: i32) {
    for (sum, &word) in sums.iter_mut().zip(row) {
        *sum = sum.wrapping_add(word.wrapping_mul(factor as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_fair() {
        for word in [0u32, 1, 7, 8, 9, 15, 16, 0x1234_5678, u32::MAX - 8, u32::MAX - 7, u32::MAX] {
            assert_eq!(round_fairly(word, 0, 1), word);
            let rounded = [0, 1].map(|tie| round_fairly(word, 4, tie));
            let errors = rounded.map(|value| (value << 4).wrapping_sub(word) as i32);
            assert!(errors.iter().all(|error| (-8..=8).contains(error)), "{word}: {errors:?}");
            assert_eq!(rounded[0] == rounded[1], word % 16 != 8, "{word}");
            assert_eq!(rounded[0], round(word, 4) & ((1 << 28) - 1));
            if word % 16 == 8 {
                assert_eq!(errors, [8, -8]);
            }
        }
    }

    #[test]
    fn no_two_masks_are_equal() {
        let seed = Seed([1; 32]);
        let mut rows = Vec::new();
        for masks in [first_masks(seed), second_masks(seed)] {
            for index in 0..300 {
                let mut row = vec![0; N];
                masks.row(index, &mut row);
                rows.push(row);
            }
        }
        rows.sort();
        assert!(rows.windows(2).all(|pair| pair[0][..4] != pair[1][..4]), "two masks are equal");
    }
}
