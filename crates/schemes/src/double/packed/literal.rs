//! Variants and unchecked parameters, and the noise of both levels.
//!
//! The first level is DoublePIR's (`crate::double::noise`): masks and bodies are rounded to their
//! digits, and the bound holds for every database. The second level is a packed selection
//! ([`crate::shared::selection::bits`]) of centred digits, at most 2^(D − 1) in absolute value:
//! again a bound for every database.

use std::fmt::Debug;
use std::marker::PhantomData;

use papir_core::Shape;
use papir_lattice::lwe32::{LOG2_Q, N};

use crate::double::layout::Layout;
use crate::double::noise::{FEW, FIRST, SAMPLER_LOG2, TAIL_LOG2};
use crate::shared::digits::Digits;
use crate::shared::selection::{Family, Selection, SelectionBits};

/// Widest digit: a signed word of 16 bits.
const MAX_DIGIT_BITS: u32 = 16;

/// Name and packing of a packed DoublePIR.
pub trait Variant: Clone + Copy + Debug + Send + Sync + 'static {
    /// Name of the scheme.
    const NAME: &'static str;
    /// Number of the scheme in messages.
    const ID: u16;
    /// Packing of the second level.
    type Family: Family;
}

/// The scheme of a variant.
#[derive(Clone, Copy, Debug)]
pub struct PackedDouble<V>(PhantomData<V>);

/// Digits of the first level's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigitShape {
    /// D, bits of a digit.
    pub bits: u32,
    /// Digits of a word of the hint. Its rounding is multiplied by the secret, so it needs more
    /// than a body.
    pub mask: usize,
    /// Digits of a word of the first answer.
    pub body: usize,
}

impl DigitShape {
    /// Whether the widths are valid and no word has more digits than bits.
    pub(super) fn fits(&self) -> bool {
        let fits = |count: usize| (1..=LOG2_Q as usize).contains(&count.saturating_mul(self.bits as usize));
        (1..=MAX_DIGIT_BITS).contains(&self.bits) && fits(self.mask) && fits(self.body)
    }

    /// Digits of a word of the hint.
    pub(super) const fn of_mask(self) -> Digits {
        Digits { bits: self.bits, count: self.mask }
    }

    /// Digits of a word of the first answer.
    pub(super) const fn of_body(self) -> Digits {
        Digits { bits: self.bits, count: self.body }
    }
}

/// Unchecked values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literal {
    /// Records and their length.
    pub shape: Shape,
    /// Units in a column of D: columns of the second level.
    pub units: u64,
    /// Digits of the first level's words.
    pub digits: DigitShape,
    /// LWE encryptions in a pack.
    pub capacity: usize,
    /// Bits of a word of the first level's query.
    pub first_bits: u32,
    /// Bits of the second level.
    pub bits: SelectionBits,
}

/// Largest distance that decoding accepts at the first level, with `bits` bits of the query; `None`
/// if the noise may be too large.
pub(super) fn first_bound(layout: &Layout, digits: DigitShape, bits: u32) -> Option<u32> {
    let (mask, body) = (digits.of_mask().dropped_bits(), digits.of_body().dropped_bits());
    FIRST.bound(FIRST.deviation(layout.columns, LOG2_Q - bits, mask), layout.unit_bytes, body)
}

/// Counts of the second level.
pub(super) fn selection(layout: &Layout, digits: DigitShape, capacity: usize) -> Selection {
    Selection {
        columns: layout.units,
        plain_bits: digits.bits,
        squares: layout.units as f64 * 4f64.powi(digits.bits as i32 - 1),
        capacity,
        rows: layout.unit_bytes * N * digits.mask,
        singles: layout.unit_bytes * digits.body,
    }
}

/// log₂ of the probability that an honest answer exceeds a bound.
pub(super) fn failure_log2(layout: &Layout, selection: &Selection) -> f64 {
    let errors = if layout.columns <= FEW { layout.columns } else { 0 };
    let first = TAIL_LOG2.exp2() + (N + errors) as f64 * SAMPLER_LOG2.exp2();
    (first + selection.failure()).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_digits_do_not_fit() {
        let fits = |bits, mask, body| DigitShape { bits, mask, body }.fits();
        assert!(fits(7, 3, 2) && fits(16, 2, 1) && fits(1, 32, 32) && fits(11, 2, 1));
        assert!(!fits(0, 3, 2) && !fits(17, 1, 1) && !fits(7, 5, 2) && !fits(7, 0, 2) && !fits(7, 3, 0));
        assert!(!fits(7, 3, usize::MAX));
    }
}
