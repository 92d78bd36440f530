//! Noise of both levels.
//!
//! A level decodes Δ·x + Σ wᶜ·(eᶜ + rᶜ) + Σ ρⁱ·sⁱ + β. Words have |wᶜ| ≤ w (bytes of D, or digits).
//! The query's errors eᶜ are discrete Gaussian of standard deviation σ, and subgaussian with the
//! same parameter. The query's fair rounding rᶜ to a step 2ᵏ is uniform, as the body is; its
//! variance is (4ᵏ + 2)/12, and it is subgaussian with this variance. The rounding |ρⁱ| ≤ 2ᵗ/2 of a
//! mask that drops t bits is known before the secret s is drawn. |β| is the rounding of the body.
//! Each sum is subgaussian, and they count as independent, though rᶜ and ρⁱ both follow from A. All
//! terms but β together are subgaussian with
//!
//! deviation² = w²·(σ² + (4ᵏ + 2)/12)·count + σ²·n·4ᵗ/4,
//!
//! so their sum exceeds x with probability below 2·exp(−x²/2·deviation²), for every database. At
//! the first level the rounded masks and bodies are the ones that became digits. At the second
//! level they are the ones that are sent.
//!
//! [`Tails`] adds the excess of the sampler's moments.

use papir_core::FailureBound;
use papir_lattice::lwe32::{LOG2_Q, N, SIGMA, rounding_square};
use papir_lattice::noise::Tails;

use super::levels::{BODY, BYTE_CENTRE, CENTRE, DIGIT_BITS, MASK, coefficients};
use crate::shared::byte_matrix::Layout;
use crate::shared::parameters::FILL;

/// log₂ of the probability that the coefficients of one level exceed their bound, by default.
pub(crate) const TAIL_LOG2: f64 = -42.0;
/// Number of queries that share the cost of fetching the hint once, when message bits are chosen.
const HINT_QUERIES: usize = 100;

/// Numbers of bits of the words in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bits {
    /// Bits of a word of the first level's query.
    pub(crate) first: u32,
    /// Bits of a word of the second level's query.
    pub(crate) second: u32,
    /// Bits of a word of the second level's masks: of the hint, and of the masks of an answer.
    pub(crate) mask: u32,
    /// Bits of a body of the second level.
    pub(crate) body: u32,
}

/// Noise bounds that decoding accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    /// Largest distance from a multiple of Δ at the first level.
    pub(super) first: u32,
    /// Largest distance from a multiple of Δ at the second level.
    pub(super) second: u32,
    /// log₂ of a bound on the probability that an honest answer exceeds one of the two distances.
    pub(super) failure_log2: f64,
}

/// Constants of one level.
pub(crate) struct Level {
    /// log₂ of Δ.
    pub(crate) log2_delta: u32,
    /// Largest absolute value of a word.
    word: f64,
}

/// Constants of the first level, whose words are bytes.
pub(crate) const FIRST: Level = Level {
    log2_delta: LOG2_Q - 8,
    word: BYTE_CENTRE as f64,
};
/// Constants of the second level, whose words are digits.
pub(super) const SECOND: Level = Level {
    log2_delta: LOG2_Q - DIGIT_BITS,
    word: CENTRE as f64,
};

impl Level {
    /// Returns a bound on the deviation of a sum of `count` words, if `query` bits of the query's
    /// words and `mask` bits of the masks' words are dropped.
    pub(super) fn deviation(&self, count: usize, query: u32, mask: u32) -> f64 {
        self.deviation_of(self.word, count, query, mask)
    }

    /// Returns the bound of [`Level::deviation`] for words whose root mean square is `word`.
    pub(super) fn deviation_of(&self, word: f64, count: usize, query: u32, mask: u32) -> f64 {
        let half = if mask == 0 {
            0.0
        } else {
            2f64.powi(mask as i32 - 1)
        };

        let errors = word * word * (SIGMA * SIGMA + rounding_square(query)) * count as f64;
        (errors + SIGMA * SIGMA * N as f64 * half * half).sqrt()
    }

    /// Returns the bound that any of `coefficients` coefficients of this deviation, plus a body's
    /// rounding, exceeds with a probability of at most 2 to the power of [`tail_log2`]. Returns
    /// `None` beyond the decoding limit.
    pub(super) fn bound(
        &self,
        deviation: f64,
        coefficients: usize,
        body: u32,
        failure: FailureBound,
    ) -> Option<u32> {
        let deviations = Tails::Gaussian.deviations(coefficients as f64, tail_log2(failure));
        let bound = deviation * deviations + f64::from((1u32 << body) >> 1);

        let limit = FILL * f64::from(1 << (self.log2_delta - 1));
        (bound <= limit).then(|| bound.ceil() as u32)
    }
}

/// Returns log₂ of the accepted probability that the coefficients of one level exceed their bound.
pub(crate) fn tail_log2(failure: FailureBound) -> f64 {
    TAIL_LOG2 - failure.beyond_default()
}

/// Returns the bound of the first level with `query` bits of a query's word, or `None` if the noise
/// may be too large.
pub(crate) fn first_bound(layout: &Layout, query: u32, failure: FailureBound) -> Option<u32> {
    let deviation = FIRST.deviation(layout.columns, LOG2_Q - query, MASK.dropped_bits());
    FIRST.bound(
        deviation,
        layout.unit_layout.unit_bytes,
        BODY.dropped_bits(),
        failure,
    )
}

/// Returns the bound of the second level with these bits, or `None` if the noise may be too large.
fn second_bound(layout: &Layout, bits: &Bits, failure: FailureBound) -> Option<u32> {
    let deviation = SECOND.deviation(layout.units, LOG2_Q - bits.second, LOG2_Q - bits.mask);
    SECOND.bound(deviation, coefficients(layout), LOG2_Q - bits.body, failure)
}

/// Returns the bounds that decoding accepts with these bits, or `None` if the noise may be too
/// large.
pub(super) fn bounds(layout: &Layout, bits: &Bits, failure: FailureBound) -> Option<Bounds> {
    let first = first_bound(layout, bits.first, failure)?;
    let second = second_bound(layout, bits, failure)?;

    Some(Bounds {
        first,
        second,
        failure_log2: 1.0 + tail_log2(failure),
    })
}

/// Chooses the bits with the least traffic: query, answer, and a share of the hint. Returns `None`
/// if the noise is too large for any bits.
pub(super) fn choose(layout: &Layout, failure: FailureBound) -> Option<Bits> {
    let first = (1..=LOG2_Q).find(|&query| first_bound(layout, query, failure).is_some())?;

    // Query, mask and body share the noise of the second level: fewer bits of one take more of
    // another.
    let mut candidates = Vec::new();
    for second in 1..=LOG2_Q {
        for mask in 1..=LOG2_Q {
            let mut with_body = (1..=LOG2_Q).map(|body| Bits {
                first,
                second,
                mask,
                body,
            });
            candidates.extend(with_body.find(|bits| second_bound(layout, bits, failure).is_some()));
        }
    }
    candidates
        .into_iter()
        .min_by_key(|bits| traffic(layout, bits))
}

/// Returns the number of bits that the second level sends: query, answer, and a share of the hint.
fn traffic(layout: &Layout, bits: &Bits) -> u64 {
    let masks = layout.unit_layout.unit_bytes * N * (BODY.count + MASK.count * N / HINT_QUERIES);
    let parts = [
        (bits.second, layout.units),
        (bits.mask, masks),
        (bits.body, coefficients(layout)),
    ];
    parts
        .into_iter()
        .map(|(bits, words)| u64::from(bits) * words as u64)
        .sum()
}
