//! Noise of the second level, in *units* of q/2¹⁶; the first level's is DoublePIR's.
//!
//! Decoding a row sees Δ·x, Δ = 512 units, x a digit, and
//!
//! - the noise of SimplePIR, Σ wᶜ·(eᶜ + rᶜ): digits |wᶜ| ≤ 64, errors eᶜ of standard deviation σ, the rounding
//!   rᶜ of the query's words to a step 2ᵏ, of variance (4ᵏ + 2)/12;
//! - what compression adds (`crate::zip::compression`), of variance n/24, and less than two units for certain. The
//!   rows of the first answer travel rounded to units, their mean taken off: n/48, and half a unit.
//!
//! |noise| > x with probability below 2·exp(−x²/2·deviation²).

use papir_lattice::lwe32::{LOG2_Q, MODULE_SIGMA, N};

use crate::double::digits::{CENTRE, DIGIT_BITS};
use crate::double::layout::Layout;
use crate::double::noise::{FEW, FILL, SAMPLER_LOG2, TAIL_LOG2, coefficients, first_bound};
use crate::zip::compression::noise::{EXACT, variance};
use crate::zip::compression::slots::{LOG2_UNIT, SLOT_BITS};

/// log₂ of Δ = q/p.
pub(super) const LOG2_DELTA: u32 = LOG2_Q - DIGIT_BITS;

/// How queries are rounded and what decoding accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Budget {
    /// Bits of a word of the first query.
    pub(super) first_bits: u32,
    /// Bits of a word of the second query.
    pub(super) second_bits: u32,
    /// The largest distance from a multiple of Δ at the first level, in q.
    pub(super) first: u32,
    /// The same at the second level, in units.
    pub(super) second: u16,
    /// log₂ of the probability that an honest answer exceeds one of them.
    pub(super) failure_log2: f64,
}

/// The deviation of one row of the second level in units, for keys of n bits.
pub(super) fn deviation(units: usize, n: usize, dropped_bits: u32) -> f64 {
    let rounding = if dropped_bits == 0 { 0.0 } else { (4f64.powi(dropped_bits as i32) + 2.0) / 12.0 };
    let word = f64::from(CENTRE) / f64::from(1u32 << LOG2_UNIT);
    let noise = word.powi(2) * units as f64 * (MODULE_SIGMA.powi(2) + rounding);
    (noise + variance(n)).sqrt()
}

/// The shortest query whose answers decode but with probability 2^`failure_log2`; `None` where none does.
pub(super) fn budget(layout: &Layout, n: usize) -> Option<Budget> {
    let (first_bits, first) =
        (1..=LOG2_Q).find_map(|bits| first_bound(layout, bits).map(|bound| (bits, bound)))?;
    let tails = (2.0 * coefficients(layout) as f64).ln() - TAIL_LOG2 * std::f64::consts::LN_2;
    let bound = |bits: u32| deviation(layout.units, n, LOG2_Q - bits) * (2.0 * tails).sqrt() + EXACT;
    let limit = FILL * f64::from(1u32 << (SLOT_BITS - DIGIT_BITS - 1));
    let second_bits = (1..=LOG2_Q).find(|&bits| bound(bits) <= limit)?;
    let few = [layout.columns, layout.units].into_iter().filter(|&count| count <= FEW).sum::<usize>();
    let sampler = (N + few) as f64 * SAMPLER_LOG2.exp2();
    let second = bound(second_bits).ceil() as u16;
    let failure_log2 = (2.0 * TAIL_LOG2.exp2() + sampler).log2();
    Some(Budget { first_bits, second_bits, first, second, failure_log2 })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::double::layout::MAX_SIDE;
    use papir_core::Shape;

    #[test]
    fn the_largest_and_the_smallest_matrix_decode() {
        for (bytes, units, columns) in
            [(8, MAX_SIDE, 64), (8, 64, MAX_SIDE), (1, 1 << 15, 1 << 15), (1, 1, 1)]
        {
            let layout = Layout::new(&Shape::of_bytes(units * columns, bytes).unwrap(), units).unwrap();
            let budget = budget(&layout, 1280).unwrap();
            assert!(budget.failure_log2 <= -40.0 && budget.second < 256, "{layout:?}: {budget:?}");
            let shorter = deviation(layout.units, 1280, LOG2_Q - budget.second_bits + 1);
            assert!(
                budget.second_bits == 1
                    || shorter > deviation(layout.units, 1280, LOG2_Q - budget.second_bits)
            );
        }
        assert!((deviation(0, 1280, 0) - 7.30).abs() < 0.01);
    }
}
