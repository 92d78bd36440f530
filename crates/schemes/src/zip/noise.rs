//! Noise of a row, in *units* of q/2¹⁶, the last bit of a slot.
//!
//! Decoding a row sees Δ·x and three kinds of noise:
//!
//! - SimplePIR's, Σ wᶜ·(eᶜ + rᶜ): centred words |wᶜ| ≤ w, errors eᶜ of standard deviation σ,
//!   rounding rᶜ of the query's words (Theorem 3 without the rounding);
//! - the rounding of the hint to units, Σ ρᵢ·sᵢ with |ρᵢ| ≤ ½ and key bits sᵢ. The server subtracts
//!   its mean over keys, Σ ρᵢ/2, and leaves Σ ρᵢ·(sᵢ − ½), of variance n/48;
//! - the spill from the slot below, ⌊Σ uᵢ·sᵢ/2¹⁶⌋ for digits uᵢ, one for each bit of the key. The
//!   client subtracts ½·Σ sᵢ, the server Σ (uᵢ/2¹⁶ − ½)/2, which leaves Σ (uᵢ/2¹⁶ − ½)·(sᵢ − ½), of
//!   variance n/48.
//!
//! A further [`EXACT`] units bound the rounding of the word itself, half of an odd weight, and the
//! part of the spill that comes from the word below and its own spill.
//!
//! Rows that are sent with their masks are rounded to units and their mean is subtracted: n/48, and
//! half a unit, so the same bound holds for them.
//!
//! Words of H are uniform, up to a power of two as a factor, where a row of the database has any
//! word that is not zero; elsewhere rounding and spill equal their means. Each sum is subgaussian
//! with the deviation given, and they are independent, so |noise| > x with probability below
//! 2·exp(−x²/2·deviation²).

use papir_lattice::lwe32::{LOG2_Q, MODULE_SIGMA};

use super::slots::{LOG2_UNIT, SLOT_BITS};
use crate::shared::parameters::FILL;

/// Bound on the noise that is not random, in units.
const EXACT: f64 = 2.0;

/// A level of LWE encryption whose hint is compressed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// w, the largest absolute value of a word.
    pub(super) word: f64,
    /// log₂ p, bits of message.
    pub(super) message_bits: u32,
    /// log₂ of the probability that some row exceeds the bound, the sampler aside.
    pub(super) tail_log2: f64,
    /// Variance of rounding a query's word, given the bits that it drops.
    pub(super) rounding: fn(u32) -> f64,
}

impl Level {
    /// log₂ of Δ = q/p.
    pub(super) const fn log2_delta(&self) -> u32 {
        LOG2_Q - self.message_bits
    }

    /// Deviation of a row's noise for `count` words, keys of n bits and queries that drop some
    /// bits.
    pub(super) fn deviation(&self, count: usize, n: usize, dropped_bits: u32) -> f64 {
        let word = self.word / f64::from(1u32 << LOG2_UNIT);
        let encryption = word.powi(2) * count as f64 * (MODULE_SIGMA.powi(2) + (self.rounding)(dropped_bits));
        (encryption + 2.0 * n as f64 / 48.0).sqrt()
    }

    /// Bound on the noise of `rows` rows; `None` beyond the decoding limit.
    pub(super) fn bound(&self, rows: usize, count: usize, n: usize, dropped_bits: u32) -> Option<u16> {
        let tails = (2.0 * rows as f64).ln() - self.tail_log2 * std::f64::consts::LN_2;
        let bound = self.deviation(count, n, dropped_bits) * (2.0 * tails).sqrt() + EXACT;
        let limit = FILL * f64::from(1u32 << (SLOT_BITS - self.message_bits - 1));
        (bound <= limit).then_some(bound.ceil() as u16)
    }
}
