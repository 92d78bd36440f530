//! Negacyclic transforms modulo a wide prime, on eight words at a time.
//!
//! A butterfly has three multiplications of IFMA, for a Montgomery product by a constant. The
//! difference of the high parts of v·w and m·q needs no mask, unlike the difference of the low
//! parts in a Shoup product, and any multiple of q is added for free.
//!
//! On Zen 4, where a minimum shares the two pipes of the multiplications, eight butterflies take at
//! least 4.5 cycles: nine instructions, two a cycle. So 2048 words take 6700 cycles with the
//! permutations of the last stages, of which 9000 were measured.

use std::arch::x86_64::*;

use super::wide_lanes::{Factors, Field, Lanes, Words};
use crate::portable;
use crate::wide::table::{NttTable, Roots};
use crate::x86_64::wide_ntt::{
    self, BLOCK, Butterflies, Forward, ForwardButterflies, Inverse, InverseButterflies, Stages,
};

/// The least degree; smaller transforms are portable.
const LEAST_DEGREE: usize = 16 * BLOCK;

/// Pairs of registers in a block.
const PAIRS: usize = BLOCK / 2;

/// The u and v of eight butterflies.
type Pair = (__m512i, __m512i);

/// The butterflies of one direction.
#[derive(Clone, Copy)]
struct Direction<'a> {
    field: Field,
    roots: &'a Roots,
    /// The factors of the last stage of the inverse.
    last: [Factors; 2],
}

impl<'a> Direction<'a> {
    #[inline(always)]
    fn new(lanes: Lanes, table: &NttTable, roots: &'a Roots) -> Self {
        let field = Field::new(lanes, table.q);
        Self {
            field,
            roots,
            last: [
                field.one_factor(table.last[0]),
                field.one_factor(table.last[1]),
            ],
        }
    }

    /// The roots that one of the last three stages has in a block, with the roots of pair k at
    /// index k.
    /// `R` is 2, 4 or 8: roots of a pair, which repeat to fill a register.
    #[inline(always)]
    fn of_pairs<const R: usize>(self, block: usize) -> [Factors; PAIRS] {
        let values = &self.roots.values.as_chunks::<R>().0.as_chunks::<PAIRS>().0[block];
        let quotients = &self
            .roots
            .quotients
            .as_chunks::<R>()
            .0
            .as_chunks::<PAIRS>()
            .0[block];
        let mut factors = [self.last[0]; PAIRS];
        for (k, factor) in factors.iter_mut().enumerate() {
            factor.value = self.field.lanes.repeat(&values[k]);
            factor.quotient = self.field.lanes.repeat(&quotients[k]);
        }
        factors
    }

    /// The words at the given places, where u has places 0 to 7 and v has 8 to 15.
    #[inline(always)]
    fn pick(self, (u, v): Pair, places: &[Words; 2]) -> Pair {
        let lanes = self.field.lanes;
        let [low, high] = [lanes.load(&places[0]), lanes.load(&places[1])];
        (lanes.pick(u, low, v), lanes.pick(u, high, v))
    }
}

impl Butterflies for Direction<'_> {
    type Words = Words;
    const MOST_STAGES: u32 = 3;
    type Vector = __m512i;
    type Root = Factors;

    #[inline(always)]
    fn load(self, words: &Words) -> __m512i {
        self.field.lanes.load(words)
    }

    #[inline(always)]
    fn store(self, words: &mut Words, value: __m512i) {
        self.field.lanes.store(words, value);
    }

    /// The butterflies keep values in their ranges.
    #[inline(always)]
    fn settle(self, value: __m512i) -> __m512i {
        value
    }

    #[inline(always)]
    fn root(self, index: usize) -> Factors {
        self.field.one_factor(self.roots.at(index))
    }
}

impl ForwardButterflies for Direction<'_> {
    /// u and v are in [0, 4q), a u with `SIGNED_IN` and a new v with `SIGNED_OUT` in (−2q, 2q). The
    /// reduced u and the product are in [0, 2q).
    #[inline(always)]
    fn forward<const SIGNED_IN: bool, const SIGNED_OUT: bool>(
        self,
        (u, v): Pair,
        w: Factors,
    ) -> Pair {
        let Self { field, .. } = self;
        let u = if SIGNED_IN {
            field.add_2q(u)
        } else {
            field.subtract_2q(u)
        };

        let product = field.mul_lazy(v, w);
        let raised = if SIGNED_OUT {
            u
        } else {
            field.lanes.add(u, field.twice)
        };

        (
            field.lanes.add(u, product),
            field.lanes.sub(raised, product),
        )
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
pub(crate) fn forward(table: &NttTable, x: &mut [u64]) {
    if table.d < LEAST_DEGREE {
        return portable::wide_ntt::forward(table, x);
    }
    forward_stages::<true>(table, x);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
pub(crate) fn forward_lazy(table: &NttTable, x: &mut [u64]) {
    if table.d < LEAST_DEGREE {
        return portable::wide_ntt::forward_lazy(table, x);
    }
    forward_stages::<false>(table, x);
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
fn forward_stages<const REDUCE: bool>(table: &NttTable, x: &mut [u64]) {
    let direction = Direction::new(Lanes::new(), table, &table.roots);
    let (vectors, _) = x.as_chunks_mut();
    wide_ntt::forward(direction, direction, vectors);
    let (blocks, _) = vectors.as_chunks_mut();
    let first = blocks.len();
    for (i, block) in blocks.iter_mut().enumerate() {
        forward_block::<REDUCE>(direction, block, first + i);
    }
}

/// The last six stages, on the registers of a block with root `index` of the first.
///
/// Three are in radix 8, and three within pairs of registers. The instructions of the pairs
/// alternate, so that each hides the latencies of the others.
#[inline(always)]
fn forward_block<const REDUCE: bool>(
    direction: Direction,
    block: &mut [Words; BLOCK],
    index: usize,
) {
    let x =
        Forward(direction, wide_ntt::tree(direction, index)).apply(load_block(direction, block));
    let mut pairs = [(x[0], x[1]), (x[2], x[3]), (x[4], x[5]), (x[6], x[7])];
    // Words 0 8 1 9 2 10 3 11 of the 16 of a pair in u, and their partners in v.
    forward_pairs(direction, &mut pairs, direction.of_pairs::<2>(index));
    // 0 4 8 12 1 5 9 13
    forward_pairs(direction, &mut pairs, direction.of_pairs::<4>(index));
    // 0 2 4 6 8 10 12 14
    forward_pairs(direction, &mut pairs, direction.of_pairs::<8>(index));

    for (words, pair) in block.as_chunks_mut().0.iter_mut().zip(pairs) {
        // The permutation of the stages once more: it brings the words back into their order.
        let [a, b]: &mut [Words; 2] = words;
        let (u, v) = direction.pick(pair, &INTERLEAVED);
        direction.store(a, if REDUCE { direction.field.reduce(u) } else { u });
        direction.store(b, if REDUCE { direction.field.reduce(v) } else { v });
    }
}

/// The registers of a block.
#[inline(always)]
fn load_block(direction: Direction, block: &[Words; BLOCK]) -> [__m512i; BLOCK] {
    let mut values = [direction.field.q; BLOCK];
    for (value, words) in values.iter_mut().zip(block) {
        *value = direction.load(words);
    }
    values
}

/// One stage within pairs, after the permutation that brings partners together.
///
/// Each stage halves the distance of partners, so the permutation is the same for all. It also
/// keeps the roots of the stage in order.
#[inline(always)]
fn forward_pairs(direction: Direction, pairs: &mut [Pair; PAIRS], roots: [Factors; PAIRS]) {
    for (pair, root) in pairs.iter_mut().zip(roots) {
        *pair = direction.forward::<false, false>(direction.pick(*pair, &INTERLEAVED), root);
    }
}

/// The words of u and v in turns: first of the lower halves, then of the upper ones.
const INTERLEAVED: [Words; 2] = [[0, 8, 1, 9, 2, 10, 3, 11], [4, 12, 5, 13, 6, 14, 7, 15]];

/// The even words of u and v, then the odd ones.
const SPLIT: [Words; 2] = [[0, 2, 4, 6, 8, 10, 12, 14], [1, 3, 5, 7, 9, 11, 13, 15]];

impl InverseButterflies for Direction<'_> {
    /// u is in [0, 2q) and the negated v in [0, 2q]; results are in the range of their sign.
    #[inline(always)]
    fn inverse<const NEGATE: bool>(self, (u, v): Pair, w: Factors) -> Pair {
        let Self { field, .. } = self;
        let difference = field.lanes.add(u, v);
        if NEGATE {
            (
                field.add_2q(field.lanes.sub(v, u)),
                field.mul_negated(difference, w),
            )
        } else {
            (
                field.add_2q(field.lanes.sub(u, v)),
                field.mul_lazy(difference, w),
            )
        }
    }

    #[inline(always)]
    fn last(self, u: __m512i, v: __m512i) -> Pair {
        let Self {
            field,
            last: [scale, root],
            ..
        } = self;
        // Both are below 4q < 2⁵², as products need: u is below 2q and the negated v at most 2q.
        let sum = field.lanes.sub(field.lanes.add(u, field.twice), v);
        (
            field.mul(sum, scale),
            field.mul(field.lanes.add(u, v), root),
        )
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
pub(crate) fn inverse(table: &NttTable, x: &mut [u64]) {
    if table.d < LEAST_DEGREE {
        return portable::wide_ntt::inverse(table, x);
    }
    let direction = Direction::new(Lanes::new(), table, &table.inverse_roots);
    let (vectors, _) = x.as_chunks_mut();
    let (blocks, _) = vectors.as_chunks_mut();
    let first = blocks.len();
    // The stages that follow take odd blocks negated, as the v of their butterflies.
    for (i, [even, odd]) in blocks.as_chunks_mut().0.iter_mut().enumerate() {
        inverse_block::<false>(direction, even, first + 2 * i);
        inverse_block::<true>(direction, odd, first + 2 * i + 1);
    }
    wide_ntt::inverse(direction, vectors);
}

/// The first six stages, on the registers of a block with root `index` of the sixth; see
/// [`forward_block`].
#[inline(always)]
fn inverse_block<const NEGATE: bool>(
    direction: Direction,
    block: &mut [Words; BLOCK],
    index: usize,
) {
    let x = load_block(direction, block);
    let mut pairs = [(x[0], x[1]), (x[2], x[3]), (x[4], x[5]), (x[6], x[7])];
    inverse_pairs(direction, &mut pairs, direction.of_pairs::<8>(index));
    inverse_pairs(direction, &mut pairs, direction.of_pairs::<4>(index));
    inverse_pairs(direction, &mut pairs, direction.of_pairs::<2>(index));

    let mut x = x;
    for (k, pair) in pairs.into_iter().enumerate() {
        let (a, b) = direction.pick(pair, &SPLIT);
        x[2 * k] = a;
        // The next stage gets its v negated: from [0, 2q) to (0, 2q].
        x[2 * k + 1] = direction.field.lanes.sub(direction.field.twice, b);
    }
    let x = Inverse::<_, _, NEGATE>(direction, wide_ntt::tree(direction, index)).apply(x);
    for (words, value) in block.iter_mut().zip(x) {
        direction.store(words, value);
    }
}

/// One stage within pairs, after the permutation that undoes the one of [`forward_pairs`].
#[inline(always)]
fn inverse_pairs(direction: Direction, pairs: &mut [Pair; PAIRS], roots: [Factors; PAIRS]) {
    for (pair, root) in pairs.iter_mut().zip(roots) {
        let (u, v) = direction.pick(*pair, &SPLIT);
        *pair = plain_inverse(direction, u, v, root);
    }
}

/// [`InverseButterflies::inverse`] for a v that is not negated, also in [0, 2q).
#[inline(always)]
fn plain_inverse(direction: Direction, u: __m512i, v: __m512i, w: Factors) -> Pair {
    let Direction { field, .. } = direction;
    let difference = field.lanes.sub(field.lanes.add(u, field.twice), v);
    (
        field.subtract_2q(field.lanes.add(u, v)),
        field.mul_lazy(difference, w),
    )
}
