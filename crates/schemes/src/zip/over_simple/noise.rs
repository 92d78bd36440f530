//! Noise of an answer, computed: Theorem 3 with what its proof leaves out.
//!
//! Counted in *units* of q/2¹⁶, the last bit of a slot. Decoding a slot sees Δ·d, Δ = 256 units, and
//!
//! - the noise of SimplePIR, Σ wᶜ·eᶜ: words |wᶜ| ≤ 128, errors eᶜ of standard deviation σ with the rounding
//!   of the query's words; subgaussian with deviation 128·√columns·√(σ² + 4^dropped/12)/2¹⁶;
//! - what compression adds (`crate::zip::compression`), of variance n/24, and less than two units for certain.
//!
//! |noise| > x with probability below 2·exp(−x²/2·deviation²).

use papir_lattice::lwe32::{LOG2_Q, MODULE_SIGMA};

use crate::simple::layout::Layout;
use crate::zip::compression::noise::{EXACT, variance};
use crate::zip::compression::slots::{LOG2_UNIT, SLOT_BITS};

/// What centring takes off a word.
pub(super) const CENTRE: u8 = 128;
/// log₂ of the plaintext modulus p: a word of D is a byte.
pub(super) const LOG2_P: u32 = 8;
/// log₂ of Δ = q/p.
pub(super) const LOG2_DELTA: u32 = LOG2_Q - LOG2_P;
/// log₂ of the probability that one answer's rows exceed the bound, the sampler aside.
const TAIL_LOG2: f64 = -44.0;
/// log₂ of one sample's statistical distance from the Gaussian (`papir_ring::sample`).
const SAMPLER_LOG2: f64 = -57.0;
/// How much of the decoding limit noise may fill. What is left is where the answer to another query
/// falls and is noticed.
const FILL: f64 = 0.9;
/// The most bits that words of a query drop.
const MAX_DROPPED: u32 = 8;

/// How a query is rounded and what decoding accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Budget {
    /// Low bits that a query's words drop.
    pub(super) dropped_bits: u32,
    /// The largest distance from a multiple of Δ that is accepted, in units.
    pub(super) bound: u16,
    /// log₂ of the probability that an honest answer has a row beyond the bound.
    pub(super) failure_log2: f64,
}

/// The deviation of one row in units, for keys of n words.
pub(super) fn deviation(columns: usize, n: usize, dropped_bits: u32) -> f64 {
    let unit = f64::from(1u32 << LOG2_UNIT);
    let word = (MODULE_SIGMA.powi(2) + (4f64.powi(dropped_bits as i32) - 1.0) / 12.0).sqrt();
    let noise = f64::from(CENTRE) * (columns as f64).sqrt() * word / unit;
    (noise.powi(2) + variance(n)).sqrt()
}

/// The shortest query whose answers decode but with probability 2^`failure_log2`; `None` where none does.
pub(super) fn budget(layout: &Layout, n: usize) -> Option<Budget> {
    let (rows, columns) = (layout.rows as f64, layout.columns);
    let tails = (2.0 * (2.0 * rows).ln() - 2.0 * TAIL_LOG2 * std::f64::consts::LN_2).sqrt();
    let limit = FILL * f64::from(1 << (SLOT_BITS - LOG2_P - 1));
    let bound = |dropped: u32| tails * deviation(columns, n, dropped) + EXACT;
    let dropped_bits = (0..=MAX_DROPPED).rev().find(|&dropped| bound(dropped) <= limit)?;
    let sampler = columns as f64 * SAMPLER_LOG2.exp2();
    Some(Budget {
        dropped_bits,
        bound: bound(dropped_bits).ceil() as u16,
        failure_log2: (TAIL_LOG2.exp2() + sampler).log2(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::simple::layout::{MAX_COLUMNS, MAX_ROWS};
    use papir_core::Shape;

    fn of_matrix(rows: usize, columns: usize) -> Option<Budget> {
        let shape = Shape::of_bytes(2, 1).unwrap();
        budget(&Layout { rows, columns, ..Layout::new(&shape, 1).unwrap() }, 1280)
    }

    #[test]
    fn the_largest_matrix_decodes() {
        let budget = of_matrix(MAX_ROWS as usize, MAX_COLUMNS as usize).unwrap();
        assert!(budget.failure_log2 <= -40.0 && budget.bound < 128, "{budget:?}");
    }

    #[test]
    fn a_gibibyte_is_asked_for_with_26_bits_a_word() {
        assert_eq!(of_matrix(1 << 15, 1 << 15).unwrap().dropped_bits, 6);
        assert_eq!(of_matrix(1 << 14, 1 << 16).unwrap().dropped_bits, 6);
        assert_eq!(of_matrix(1 << 12, 1 << 8).unwrap().dropped_bits, MAX_DROPPED);
    }

    #[test]
    fn too_much_noise_is_seen() {
        assert!(of_matrix(1 << 20, 1 << 26).is_none());
        assert!((deviation(0, 1280, 0) - 7.30).abs() < 0.01);
    }
}
