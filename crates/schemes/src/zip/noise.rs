//! Noise of a row and its bound.
//!
//! Noise is in *units* of q/2¹⁶. A unit is the last bit of a slot.
//!
//! Decoding a row sees Δ·x and three kinds of noise:
//!
//! - SimplePIR's, Σ wᶜ·(eᶜ + rᶜ): centred words |wᶜ| ≤ w, errors eᶜ of standard deviation σ,
//!   rounding rᶜ of the query's words (Theorem 3 without the rounding). A word is uniform and its
//!   ties are random, so dropping k bits adds the mean square (4ᵏ + 2)/12, not the variance
//!   (4ᵏ − 1)/12 of rounding ties in one direction;
//! - the rounding of the hint to units, Σ ρᵢ·sᵢ with |ρᵢ| ≤ ½ and key bits sᵢ. The server subtracts
//!   its mean over keys, Σ ρᵢ/2, and leaves Σ ρᵢ·(sᵢ − ½), of variance n/48;
//! - the spill from the slot below, ⌊Σ uᵢ·sᵢ/2¹⁶⌋ for digits uᵢ, one for each bit of the key. The
//!   client subtracts ½·Σ sᵢ, the server Σ (uᵢ/2¹⁶ − ½)/2, which leaves Σ (uᵢ/2¹⁶ − ½)·(sᵢ − ½), of
//!   variance n/48.
//!
//! A further [`EXACT`] units bound the rounding of the word itself, half of an odd weight, and the
//! part of the spill that comes from the word below and its own spill.
//!
//! Rows that are sent with their masks are rounded to units and their mean is subtracted. This
//! leaves a variance of n/48 and half a unit, so the same bound holds for them.
//!
//! Words of H are uniform, up to a power of two as a factor, if the row of the database has any
//! word that is not zero. In other rows, rounding and spill equal their means. Each sum is
//! subgaussian with the deviation given, and they are independent, so |noise| > x with probability
//! below 2·exp(−x²/2·deviation²).

use papir_core::FailureBound;
use papir_lattice::lwe32::{LOG2_Q, MODULE_SIGMA, rounding_square};

use super::slots::{LOG2_UNIT, SLOT_BITS};
use crate::shared::parameters::{FILL, tails};

/// Bound on the noise that is not random, in units: half a unit each for rounding and for an odd
/// weight, and the carry of the slot below, at most (65,535 + 1,281)/65,536.
const EXACT: f64 = 2.02;

/// A level of LWE encryption whose hint is compressed.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// w, the largest absolute value of a word.
    pub(super) word: f64,
    /// log₂ p, the number of bits of message.
    pub(super) message_bits: u32,
    /// log₂ of the accepted probability that any row exceeds the bound, by default.
    pub(super) default_tail_log2: f64,
    /// Least number of bits of a query's word.
    pub(super) least_bits: u32,
}

/// Rounding of queries, and the noise that decoding accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Budget {
    /// Number of bits of a query's word.
    pub(super) query_bits: u32,
    /// Largest accepted distance from a multiple of Δ, in units.
    pub(super) bound: u16,
}

impl Level {
    /// Returns log₂ of Δ = q/p.
    pub(super) const fn log2_delta(&self) -> u32 {
        LOG2_Q - self.message_bits
    }

    /// Returns the deviation of a row's noise for `count` words, keys of n bits and queries of
    /// `query_bits` bits a word.
    pub(super) fn deviation(&self, count: usize, n: usize, query_bits: u32) -> f64 {
        let word = self.word / f64::from(1u32 << LOG2_UNIT);
        let error = MODULE_SIGMA.powi(2) + rounding_square(LOG2_Q - query_bits);
        (word.powi(2) * count as f64 * error + 2.0 * n as f64 / 48.0).sqrt()
    }

    /// Returns log₂ of the accepted probability that any row exceeds the bound.
    pub(super) fn tail_log2(&self, failure: FailureBound) -> f64 {
        self.default_tail_log2 - failure.beyond_default()
    }

    /// Returns the budget of the shortest queries for which `rows` rows of `count` words decode.
    /// Returns `None` if no length suffices.
    pub(super) fn budget(
        &self,
        rows: usize,
        count: usize,
        n: usize,
        failure: FailureBound,
    ) -> Option<Budget> {
        // Rounding and spill are sums of n products with the key's bits.
        let deviations = tails(failure, n).deviations(rows as f64, self.tail_log2(failure));
        let limit = FILL * f64::from(1u32 << (SLOT_BITS - self.message_bits - 1));

        (self.least_bits..=LOG2_Q).find_map(|query_bits| {
            let bound = self.deviation(count, n, query_bits) * deviations + EXACT;
            (bound <= limit).then_some(Budget {
                query_bits,
                bound: bound.ceil() as u16,
            })
        })
    }
}
