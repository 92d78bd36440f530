//! Noise of both levels.
//!
//! The first level is DoublePIR's (`super::super::noise`): masks and bodies are rounded to their digits, the
//! bound holds for every database. The second level is a packed selection ([`crate::shared::selection::bits`]) of
//! centred digits, none above 2^(D − 1) in absolute value: a bound for every database too.

use papir_lattice::lwe32::{LOG2_Q, N};

use super::digits::DigitShape;
use crate::double::layout::Layout;
use crate::double::noise::{FEW, FIRST, SAMPLER_LOG2, TAIL_LOG2};
use crate::shared::selection::Selection;

/// The largest distance that decoding accepts at the first level, with so many bits of the query; `None`
/// when the noise may be too much.
pub(super) fn first_bound(layout: &Layout, digits: DigitShape, bits: u32) -> Option<u32> {
    let (mask, body) = (digits.of_mask().dropped_bits(), digits.of_body().dropped_bits());
    FIRST.bound(FIRST.deviation(layout.columns, LOG2_Q - bits, mask), layout.unit_bytes, body)
}

/// The second level's counts.
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
