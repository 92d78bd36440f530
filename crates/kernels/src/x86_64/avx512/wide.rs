//! Slot-by-slot arithmetic modulo a wide prime, on eight words at a time.
#![expect(
    clippy::needless_range_loop,
    reason = "values live in registers: their loops must have constant bounds, to unroll"
)]

use std::arch::x86_64::*;

use super::wide_lanes::{Field, Lanes, Words};
use crate::portable;
use crate::wide::modulus::{DIGIT, DIGIT_MASK, Factor, Modulus};

/// Constants that reduce sums of products modulo q.
#[derive(Clone, Copy)]
struct Reduction {
    field: Field,
    /// ⌊2⁵² / q⌋.
    ratio: __m512i,
    /// 2⁵² mod q.
    fold: __m512i,
    /// ⌊`fold`·2⁵² / q⌋, the Shoup quotient.
    fold_quotient: __m512i,
    /// ⌊2⁶⁴ / q⌋.
    high_ratio: __m512i,
    mask: __m512i,
}

impl Reduction {
    #[inline(always)]
    fn new(lanes: Lanes, modulus: Modulus) -> Self {
        // Without their lowest 12 bits, quotients for 2⁶⁴ are quotients for 2⁵².
        let shift = u64::BITS - DIGIT;
        Self {
            field: Field::new(lanes, modulus.value()),
            ratio: lanes.splat(modulus.ratio >> shift),
            fold: lanes.splat(modulus.fold),
            fold_quotient: lanes.splat(modulus.fold_quotient >> shift),
            high_ratio: lanes.splat(modulus.ratio),
            mask: lanes.splat(DIGIT_MASK),
        }
    }

    /// low + 2⁵²·high mod q, for low and high below 2⁵²; their higher bits are ignored.
    ///
    /// The quotients of both terms are short by at most 1, so that the rest is below 4q < 2⁵² and
    /// its lowest 52 bits are exact.
    #[inline(always)]
    fn reduce(self, low: __m512i, high: __m512i) -> __m512i {
        let lanes = self.field.lanes;
        let quotient = lanes.add_high(lanes.splat(0), high, self.fold_quotient);
        let quotient = lanes.add_high(quotient, low, self.ratio);
        let rest = lanes.add_low(
            lanes.add_low(low, high, self.fold),
            quotient,
            self.field.minus,
        );
        self.field.reduce(lanes.and(rest, self.mask))
    }

    /// [`Reduction::reduce`] for sums below 2⁶³. `LARGE` is for a `high` that, with the carry of
    /// `low`, may reach 2⁵²; q must be above 2¹².
    #[inline(always)]
    fn reduce_sums<const LARGE: bool>(self, low: __m512i, high: __m512i) -> __m512i {
        let lanes = self.field.lanes;
        let mut high = lanes.add(high, lanes.upper_digit(low));
        if LARGE {
            // Barrett reduction; the quotient is short by at most 2, and 3q is below 2⁵².
            let quotient =
                lanes.add_high(lanes.splat(0), lanes.without_12_bits(high), self.high_ratio);
            high = lanes.add_low(high, quotient, self.field.minus);
        }
        self.reduce(low, high)
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
pub(crate) fn mul(out: &mut [u64], a: &[u64], b: &[u64], modulus: Modulus) {
    let lanes = Lanes::new();
    let reduction = Reduction::new(lanes, modulus);
    let zero = lanes.splat(0);
    let (blocks, rest) = out.as_chunks_mut();
    let (a, a_rest) = a.as_chunks();
    let (b, b_rest) = b.as_chunks();

    for ((out, a), b) in blocks.iter_mut().zip(a).zip(b) {
        // Both factors are below 2⁵², one digit each; their product has two.
        let a = lanes.load(a);
        let b = lanes.load(b);
        lanes.store(
            out,
            reduction.reduce(lanes.add_low(zero, a, b), lanes.add_high(zero, a, b)),
        );
    }

    portable::wide::mul(rest, a_rest, b_rest, modulus);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
pub(crate) fn scale(out: &mut [u64], a: &[u64], constant: u64, modulus: Modulus) {
    let lanes = Lanes::new();
    let field = Field::new(lanes, modulus.value());
    let factor = field.one_factor(Factor::new(constant, modulus.value()));
    let (blocks, rest) = out.as_chunks_mut();
    let (a, a_rest) = a.as_chunks();
    for (out, a) in blocks.iter_mut().zip(a) {
        lanes.store(out, field.mul(lanes.load(a), factor));
    }
    portable::wide::scale(rest, a_rest, constant, modulus);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
pub(crate) fn reduce(out: &mut [u64], words: &[u64], modulus: Modulus) {
    let lanes = Lanes::new();
    let reduction = Reduction::new(lanes, modulus);
    let (blocks, rest) = out.as_chunks_mut();
    let (words, words_rest) = words.as_chunks();
    for (out, words) in blocks.iter_mut().zip(words) {
        let words = lanes.load(words);
        lanes.store(out, reduction.reduce(words, lanes.upper_digit(words)));
    }
    portable::wide::reduce(rest, words_rest, modulus);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
pub(crate) fn dot(out: &mut [u64], a: &[u64], b: &[u64], modulus: Modulus) {
    dots([out], a, [b], modulus);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
pub(crate) fn dot_pair(outs: [&mut [u64]; 2], a: &[u64], b: [&[u64]; 2], modulus: Modulus) {
    dots(outs, a, b, modulus);
}

/// Registers whose sums run at a time. Rows at distances of a power of two compete for the same
/// sets of the cache, so each visit of a row should read several whole lines.
const VECTORS: usize = 4;

/// Dot products of `a` with `S` sets of rows.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
fn dots<const S: usize>(outs: [&mut [u64]; S], a: &[u64], b: [&[u64]; S], modulus: Modulus) {
    let reduction = Reduction::new(Lanes::new(), modulus);
    let d = outs[0].len();

    let q = u128::from(modulus.value());
    // Then a sum may exceed 104 bits, and q is above 2⁴⁵ since the rows are few.
    let large = (a.len() / d) as u128 * 4 * q * q > 1 << (2 * DIGIT);
    let width = 8 * VECTORS;

    for start in (0..d - d % width).step_by(width) {
        let sums = sums_at::<S>(reduction.field.lanes, d, start, a, b);
        for s in 0..S {
            let block: &mut [Words] = outs[s][start..start + width].as_chunks_mut().0;
            for k in 0..VECTORS {
                let [low, high] = sums[s][k];
                // The choice depends on q and the number of rows, so it is the same for all slots.
                let value = if large {
                    reduction.reduce_sums::<true>(low, high)
                } else {
                    reduction.reduce_sums::<false>(low, high)
                };
                reduction.field.lanes.store(&mut block[k], value);
            }
        }
    }

    portable::wide::dot_from(d - d % width, outs, a, b, modulus);
}

/// The sums of the low and of the high digits of all products at the slots from `start` on.
#[inline(always)]
fn sums_at<const S: usize>(
    lanes: Lanes,
    d: usize,
    start: usize,
    a: &[u64],
    b: [&[u64]; S],
) -> [[[__m512i; 2]; VECTORS]; S] {
    let mut sums = [[[lanes.splat(0); 2]; VECTORS]; S];

    for row in (0..a.len()).step_by(d) {
        for k in 0..VECTORS {
            let at = row + start + 8 * k;
            // A word of a is loaded once for all sets of rows.
            let a = lanes.load_at(a, at);
            for s in 0..S {
                let b = lanes.load_at(b[s], at);
                let [low, high] = &mut sums[s][k];
                *low = lanes.add_low(*low, a, b);
                *high = lanes.add_high(*high, a, b);
            }
        }
    }
    sums
}
