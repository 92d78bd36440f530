//! LWE encryption on the torus: extraction and key switching.
//!
//! A word x represents the torus element x/2⁶⁴: sums wrap around, and multiplication by a power of
//! two is a shift. Converting a word from a modulus q < 2⁵⁴ is off by less than 3·2⁻⁶⁴, which is
//! negligible.

use papir_ring::CyclotomicRing;
use papir_ring::prg::{Expander, Seed};
use papir_ring::sample::{self, Gaussian};
use papir_ring::wide::Ring;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::wide::Rlwe;

/// An LWE encryption: b + ⟨a, s⟩ = message + error modulo 1, in units of 2⁻⁶⁴.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lwe {
    /// The mask.
    pub a: Vec<u64>,
    /// The body.
    pub b: u64,
}

impl Lwe {
    /// `self += other · 2^shift`.
    pub fn add_shifted(&mut self, other: &Self, shift: u32) {
        let pairs = self.a.iter_mut().zip(&other.a);
        pairs.for_each(|(a, other)| *a = a.wrapping_add(other << shift));
        self.b = self.b.wrapping_add(other.b << shift);
    }

    /// `self · 2^shift`.
    #[must_use]
    pub fn shifted(&self, shift: u32) -> Self {
        Self {
            a: self.a.iter().map(|a| a << shift).collect(),
            b: self.b << shift,
        }
    }

    /// Returns b + ⟨a, s⟩: message plus error.
    pub fn phase(&self, secret: &[i32]) -> u64 {
        self.a
            .iter()
            .zip(secret)
            .map(|(&a, &s)| a.wrapping_mul(i64::from(s) as u64))
            .fold(self.b, u64::wrapping_add)
    }

    /// SampleExtract: returns coefficient `index` of an RLWE encryption as an LWE encryption under
    /// the coefficients of the ring key.
    pub fn extract(ring: &Ring, rlwe: &Rlwe, index: usize) -> Self {
        let torus = Torus::new(ring.modulus());
        let mask = ring.to_words(&rlwe.a);
        let (low, high) = mask.split_at(index + 1);

        // Coefficient `index` of a·s is Σ a_{index−i}·s_i, with a sign change where the index wraps
        // around.
        let a = low.iter().rev().map(|&a| torus.lift(a));
        let a = a
            .chain(high.iter().rev().map(|&a| torus.lift(a).wrapping_neg()))
            .collect();

        Self {
            a,
            b: torus.lift(ring.to_words(&rlwe.b)[index]),
        }
    }
}

/// Converts words modulo q to the torus.
#[derive(Clone, Copy, Debug)]
struct Torus {
    /// ⌊2^(63 + bits)/q⌋, where `bits` is the bit length of q.
    reciprocal: u64,
    shift: u32,
}

impl Torus {
    fn new(modulus: u64) -> Self {
        let bits = u64::BITS - modulus.leading_zeros();
        Self {
            reciprocal: ((1u128 << (63 + bits)) / u128::from(modulus)) as u64,
            shift: bits - 1,
        }
    }

    /// Returns x·2⁶⁴/q for x below q, less than 3 units too small: the rounded reciprocal costs
    /// less than 2 units and the truncation less than 1.
    fn lift(self, x: u64) -> u64 {
        ((u128::from(x) * u128::from(self.reciprocal)) >> self.shift) as u64
    }
}

/// Parameters of key switching to a short key modulo 2^k.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwitchParams {
    /// n, the dimension of the short key.
    pub dimension: usize,
    /// k, at most 32.
    pub log2_q: u32,
    /// Standard deviation of the error at 2^k.
    pub sigma: f64,
    /// log₂ of the base B of the digits.
    pub log_base: u32,
}

impl SwitchParams {
    /// ℓ, the number of digits that cover 2^k.
    pub const fn levels(&self) -> usize {
        self.log2_q.div_ceil(self.log_base) as usize
    }
}

/// A switch key from the coefficients of the ring key to a short binary key.
///
/// It holds, for each coefficient and digit, an encryption of s_i·B^j modulo 2^k. The masks are
/// expanded row by row (a row is a coefficient's ℓ digits), each row from its own stream.
pub struct SwitchKey {
    params: SwitchParams,
    /// Rows of n mask words and a body, lowest digits first.
    words: Words,
}

/// Words of the shorter type of at least k bits. Sums wrap modulo 2¹⁶ or 2³², which 2^k divides, so
/// their low k bits are exact.
enum Words {
    Short(Vec<u16>),
    Long(Vec<u32>),
}

/// The bits of a short key.
pub struct BinaryKey(Zeroizing<Vec<i32>>);

impl BinaryKey {
    /// Largest number of ones in a key: three standard deviations above the mean.
    pub fn most_ones(dimension: usize) -> usize {
        ((dimension as f64 + 3.0 * (dimension as f64).sqrt()) / 2.0) as usize
    }

    /// Draws a key of `dimension` bits. One key in several hundred has more than
    /// [`BinaryKey::most_ones`] ones, and is drawn again: noise is computed for that many.
    pub fn generate(dimension: usize, rng: &mut dyn CryptoRng) -> Self {
        loop {
            let mut bits = Zeroizing::new(vec![0; dimension]);
            sample::binary(rng, &mut bits);
            if bits.iter().sum::<i32>() as usize <= Self::most_ones(dimension) {
                return Self(bits);
            }
        }
    }

    /// The bits, each 0 or 1.
    pub fn bits(&self) -> &[i32] {
        &self.0
    }
}

/// Expands the masks of a coefficient's digits: ℓ·n words modulo 2³².
fn masks(params: &SwitchParams, seed: &Seed, label: &str, coefficient: usize) -> Vec<u32> {
    let mut words = vec![0; params.levels() * params.dimension];
    Expander::uniform_bits(&mut seed.expand(label, coefficient as u64), &mut words);
    words
}

/// Returns the bodies of a [`SwitchKey`]: ℓ words below 2^k for each coefficient of `source`.
pub fn switch_bodies(
    params: &SwitchParams,
    seed: &Seed,
    label: &str,
    source: &[i32],
    target: &BinaryKey,
    error: &Gaussian,
    rng: &mut dyn CryptoRng,
) -> Vec<u32> {
    let mut errors = Zeroizing::new(vec![0; source.len() * params.levels()]);
    error.fill(rng, &mut errors);

    let modulus_mask = ((1u64 << params.log2_q) - 1) as u32;
    let mut bodies = Vec::with_capacity(errors.len());

    for (i, (&s, errors)) in source
        .iter()
        .zip(errors.chunks(params.levels()))
        .enumerate()
    {
        let masks = masks(params, seed, label, i);
        let rows = masks.chunks_exact(params.dimension).zip(errors).zip(0..);

        for ((mask, &error), level) in rows {
            let message = (s as u32) << (params.log_base * level);
            // The bit as a mask of all zeros or ones: no branch depends on the secret.
            let inner = mask
                .iter()
                .zip(target.bits())
                .map(|(&a, &bit)| a & (bit as u32).wrapping_neg())
                .fold(0, u32::wrapping_add);
            bodies.push(message.wrapping_add(error as u32).wrapping_sub(inner) & modulus_mask);
        }
    }

    bodies
}

impl SwitchKey {
    /// Creates a key from bodies of [`switch_bodies`]; the masks are expanded from the same seed
    /// and label.
    pub fn new(params: SwitchParams, seed: &Seed, label: &str, bodies: &[u32]) -> Self {
        let coefficients = bodies.chunks_exact(params.levels()).enumerate();
        let rows = coefficients.flat_map(|(i, bodies)| {
            let masks = masks(&params, seed, label, i);
            let mut words = Vec::with_capacity(bodies.len() * (params.dimension + 1));
            for (mask, &body) in masks.chunks_exact(params.dimension).zip(bodies) {
                words.extend_from_slice(mask);
                words.push(body);
            }
            words
        });

        let words = match params.log2_q {
            ..=16 => Words::Short(rows.map(|word| word as u16).collect()),
            _ => Words::Long(rows.collect()),
        };
        Self { params, words }
    }

    /// Memory of a key in bytes.
    pub const fn bytes(params: &SwitchParams, degree: usize) -> usize {
        let word = if params.log2_q <= 16 { 2 } else { 4 };
        degree * params.levels() * (params.dimension + 1) * word
    }

    /// Returns the encryption under the short key modulo 2^k: n mask words and the body.
    fn switch(&self, lwe: &Lwe) -> Vec<u32> {
        let mut sum: Vec<u32> = match &self.words {
            Words::Short(rows) => self
                .sum(lwe, rows, |sum: u16, word, digit| {
                    // Sums are modulo 2¹⁶, so the low half of a digit is enough.
                    sum.wrapping_add(word.wrapping_mul(digit as u16))
                })
                .into_iter()
                .map(u32::from)
                .collect(),
            Words::Long(rows) => self.sum(lwe, rows, |sum: u32, word, digit| {
                sum.wrapping_add(word.wrapping_mul(digit as u32))
            }),
        };

        // The body multiplies no secret, so it is rounded and added without a key.
        let body = &mut sum[self.params.dimension];
        *body = body.wrapping_add(self.round(lwe.b) as u32);
        sum
    }

    /// Rounds x/2⁶⁴ to a word modulo 2^k; bits above 2^k may be set.
    fn round(&self, x: u64) -> u64 {
        let dropped = u64::BITS - self.params.log2_q;
        (x >> dropped) + (x >> (dropped - 1) & 1)
    }

    /// Returns Σ digit·row over the nonzero balanced digits of the mask; `add` returns sum +
    /// word·digit. The mask is public, so branches on its digits are safe.
    fn sum<W: Copy + Default>(
        &self,
        lwe: &Lwe,
        rows: &[W],
        add: impl Fn(W, W, i32) -> W,
    ) -> Vec<W> {
        let SwitchParams {
            dimension,
            log_base,
            log2_q,
            ..
        } = self.params;

        let levels = self.params.levels();
        let half = 1i64 << (log_base - 1);
        let mut sum = vec![W::default(); dimension + 1];

        for (&a, rows) in lwe
            .a
            .iter()
            .zip(rows.chunks_exact((dimension + 1) * levels))
        {
            // The shifts extend the sign of a word of k bits: digits are balanced around zero. A
            // carry out of the last digit is a multiple of 2^k and can be ignored.
            let mut rest = (self.round(a) as i64) << (i64::BITS - log2_q) >> (i64::BITS - log2_q);

            for row in rows.chunks_exact(dimension + 1) {
                let digit = ((rest + half) & (2 * half - 1)) - half;
                rest = (rest - digit) >> log_base;
                if digit != 0 {
                    sum.iter_mut()
                        .zip(row)
                        .for_each(|(sum, &word)| *sum = add(*sum, word, digit as i32));
                }
            }
        }

        sum
    }

    /// Returns the exponents of a blind rotation, n of the mask and one of the body.
    ///
    /// These are the encryption under the short key, rounded to multiples of `step` below `order` =
    /// 2d.
    pub fn exponents(&self, lwe: &Lwe, order: u32, step: u32) -> Vec<u32> {
        let log2_steps = (order / step).trailing_zeros();
        let dropped = self.params.log2_q - log2_steps;
        let half = 1u32 << (dropped - 1);

        // Bits of a word from 2^k on end at `order` or above, where the mask drops them.
        self.switch(lwe)
            .into_iter()
            .map(|word| (word.wrapping_add(half) >> dropped << step.trailing_zeros()) & (order - 1))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use papir_ring::prg::SecretRng;

    use super::*;

    #[test]
    fn no_short_key_has_more_ones_than_noise_is_computed_for() {
        // One in some hundred keys is drawn again.
        let mut rng = SecretRng::derived(&[1; 32], "test");
        for dimension in [0, 4, 16, 64, 640] {
            let most = BinaryKey::most_ones(dimension);
            let heaviest = (0..2000).map(|_| {
                BinaryKey::generate(dimension, &mut rng)
                    .bits()
                    .iter()
                    .sum::<i32>()
            });
            assert!(
                heaviest.max().is_some_and(|ones| ones as usize <= most),
                "{dimension} bits"
            );
        }

        assert_eq!(BinaryKey::most_ones(640), 357);
    }

    #[test]
    fn masks_of_a_switch_key_are_distinct() {
        let params = SwitchParams {
            dimension: 640,
            log2_q: 15,
            sigma: 3.19,
            log_base: 2,
        };
        let seed = Seed([3; 32]);
        let mut seen = BTreeSet::new();
        for (label, coefficient) in ["bits", "digits"]
            .into_iter()
            .flat_map(|label| (0..2048).map(move |i| (label, i)))
        {
            let masks = masks(&params, &seed, label, coefficient);
            for mask in masks.chunks_exact(params.dimension) {
                assert!(
                    seen.insert(mask[..8].to_vec()),
                    "{label}, {coefficient}: a mask twice"
                );
            }
        }

        assert_eq!(seen.len(), 2 * 2048 * params.levels());
    }
}
