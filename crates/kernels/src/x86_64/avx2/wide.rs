//! Slot-by-slot arithmetic modulo a wide prime, on four doubles at a time.
#![expect(
    clippy::needless_range_loop,
    reason = "values live in registers: their loops must have constant bounds, to unroll"
)]

use std::arch::x86_64::*;

use super::wide_lanes::{Field, Lanes, Words};
use crate::portable;
use crate::wide::modulus::{Modulus, Real};

#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn mul(out: &mut [u64], a: &[u64], b: &[u64], modulus: Modulus) {
    let lanes = Lanes::new();
    let field = Field::new(lanes, modulus.value());
    let (blocks, rest) = out.as_chunks_mut();
    let (a, a_rest) = a.as_chunks();
    let (b, b_rest) = b.as_chunks();
    for ((out, a), b) in blocks.iter_mut().zip(a).zip(b) {
        // A centred a is at most 2q, which keeps the quotient of the product below 2⁵¹.
        let a = field.to_centred_doubles(lanes.load::<u64>(a));
        let product = field.product(a, field.to_doubles(lanes.load::<u64>(b)));
        // The product may exceed q by a hundredth, which the conversion does not take.
        lanes.store(out, field.to_residues(field.settle(product)));
    }
    portable::wide::mul(rest, a_rest, b_rest, modulus);
}

#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn scale(out: &mut [u64], a: &[u64], constant: u64, modulus: Modulus) {
    let lanes = Lanes::new();
    let field = Field::new(lanes, modulus.value());
    let factor = field.one_factor(Real::new(constant, modulus.value()));
    let (blocks, rest) = out.as_chunks_mut();
    let (a, a_rest) = a.as_chunks();
    for (out, a) in blocks.iter_mut().zip(a) {
        let product = field.mul::<false>(field.to_doubles(lanes.load::<u64>(a)), factor);
        // At most 0.63q for a below 4q: the conversion takes it as it is.
        lanes.store(out, field.to_residues(product));
    }
    portable::wide::scale(rest, a_rest, constant, modulus);
}

#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn reduce(out: &mut [u64], words: &[u64], modulus: Modulus) {
    // Words of 64 bits do not fit a double.
    portable::wide::reduce(out, words, modulus);
}

#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn dot(out: &mut [u64], a: &[u64], b: &[u64], modulus: Modulus) {
    dots([out], a, [b], modulus);
}

#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn dot_pair(outs: [&mut [u64]; 2], a: &[u64], b: [&[u64]; 2], modulus: Modulus) {
    dots(outs, a, b, modulus);
}

/// Registers whose sums run at a time. Rows at distances of a power of two compete for the same
/// sets of the cache, so each visit of a row should read several whole lines.
const VECTORS: usize = 4;

/// Rows between two reductions: sums of 0.51q and six products of 1.01q are below 8q < 2⁵³.
const ROWS: usize = 6;

/// Dot products of `a` with `S` sets of rows.
#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
fn dots<const S: usize>(outs: [&mut [u64]; S], a: &[u64], b: [&[u64]; S], modulus: Modulus) {
    let field = Field::new(Lanes::new(), modulus.value());
    let d = outs[0].len();
    let width = 4 * VECTORS;

    for start in (0..d - d % width).step_by(width) {
        // Settled sums are at most 0.51q; the conversion to residues needs less than q.
        let sums = sums_at::<S>(field, d, start, a, b);
        for s in 0..S {
            let block: &mut [Words] = outs[s][start..start + width].as_chunks_mut().0;
            for k in 0..VECTORS {
                field
                    .lanes
                    .store(&mut block[k], field.to_residues(sums[s][k]));
            }
        }
    }

    portable::wide::dot_from(d - d % width, outs, a, b, modulus);
}

/// The sums of all products at the slots from `start` on, at most 0.51q.
#[inline(always)]
fn sums_at<const S: usize>(
    field: Field,
    d: usize,
    start: usize,
    a: &[u64],
    b: [&[u64]; S],
) -> [[__m256d; VECTORS]; S] {
    let lanes = field.lanes;
    let mut sums = [[lanes.splat(0.0); VECTORS]; S];
    for first in (0..a.len()).step_by(ROWS * d) {
        for row in (first..a.len().min(first + ROWS * d)).step_by(d) {
            for k in 0..VECTORS {
                let at = row + start + 4 * k;
                let a = field.to_centred_doubles(lanes.load_at(a, at));
                for s in 0..S {
                    let b = field.to_doubles(lanes.load_at(b[s], at));
                    sums[s][k] = lanes.add(sums[s][k], field.product(a, b));
                }
            }
        }

        for s in 0..S {
            for k in 0..VECTORS {
                sums[s][k] = field.settle(sums[s][k]);
            }
        }
    }

    sums
}
