//! Negacyclic transforms modulo a wide prime, on four doubles at a time.
//!
//! Values between the passes are signed integers as doubles, in the words of the slice. A butterfly
//! adds at most 0.63q to their absolute values, so that few of them must be reduced. All bounds in
//! the comments are for absolute values.

use std::arch::x86_64::*;

use super::wide_lanes::{Factors, Field, Lanes, Words};
use crate::portable;
use crate::wide::table::{NttTable, Roots};
use crate::x86_64::wide_ntt::{
    self, BLOCK, Butterflies, Forward, ForwardButterflies, Inverse, InverseButterflies, Stages,
};

/// The least degree; smaller transforms are portable.
const LEAST_DEGREE: usize = 8 * BLOCK;

/// Pairs of registers in a block.
const PAIRS: usize = BLOCK / 2;

/// The u and v of four butterflies.
type Pair = (__m256d, __m256d);

/// The butterflies of one direction. With `INPUT`, they load words below 4q.
#[derive(Clone, Copy)]
struct Direction<'a, const INPUT: bool> {
    field: Field,
    roots: &'a Roots,
    /// The factors of the last stage of the inverse.
    last: [Factors; 2],
}

impl<'a, const INPUT: bool> Direction<'a, INPUT> {
    #[inline(always)]
    fn new(lanes: Lanes, table: &NttTable, roots: &'a Roots) -> Self {
        let field = Field::new(lanes, table.q);
        let [scale, root] = table.last_reals;
        Self {
            field,
            roots,
            last: [field.one_factor(scale), field.one_factor(root)],
        }
    }

    /// The two roots of pair `index`, twice each.
    #[inline(always)]
    fn two(self, index: usize) -> Factors {
        let lanes = self.field.lanes;
        let Roots { reals, ratios, .. } = self.roots;
        Factors {
            value: lanes.twice_each(&reals.as_chunks().0[index]),
            ratio: lanes.twice_each(&ratios.as_chunks().0[index]),
        }
    }

    /// The four roots of pair `index`.
    #[inline(always)]
    fn four(self, index: usize) -> Factors {
        let lanes = self.field.lanes;
        let Roots { reals, ratios, .. } = self.roots;
        Factors {
            value: lanes.load(&reals.as_chunks().0[index]),
            ratio: lanes.load(&ratios.as_chunks().0[index]),
        }
    }

    /// The lower halves of both, then the upper ones.
    #[inline(always)]
    fn swap_halves(self, (a, b): Pair) -> Pair {
        (
            self.field.lanes.lower_halves(a, b),
            self.field.lanes.upper_halves(a, b),
        )
    }

    /// In each half: the lower words of both, then the upper ones.
    #[inline(always)]
    fn swap_words(self, (a, b): Pair) -> Pair {
        (
            self.field.lanes.lower_words(a, b),
            self.field.lanes.upper_words(a, b),
        )
    }
}

impl<const INPUT: bool> Butterflies for Direction<'_, INPUT> {
    type Words = Words;
    const MOST_STAGES: u32 = 2;
    type Vector = __m256d;
    type Root = Factors;

    #[inline(always)]
    fn load(self, words: &Words) -> __m256d {
        let value = self.field.lanes.load(words);
        if INPUT {
            self.field.to_doubles(value)
        } else {
            value
        }
    }

    #[inline(always)]
    fn store(self, words: &mut Words, value: __m256d) {
        self.field.lanes.store(words, value);
    }

    #[inline(always)]
    fn root(self, index: usize) -> Factors {
        let lanes = self.field.lanes;
        let Roots { reals, ratios, .. } = self.roots;
        Factors {
            value: lanes.splat(reals[index]),
            ratio: lanes.splat(ratios[index]),
        }
    }

    #[inline(always)]
    fn settle(self, value: __m256d) -> __m256d {
        self.field.settle(value)
    }
}

impl<const INPUT: bool> ForwardButterflies for Direction<'_, INPUT> {
    /// A pass gets values below 4q and reduces every u of its first stage to 0.51q. Each stage adds
    /// at most 0.63q, so values are below 2.5q after three stages and below 3.7q after five.
    #[inline(always)]
    fn forward<const SIGNED_IN: bool, const SIGNED_OUT: bool>(
        self,
        (u, v): Pair,
        w: Factors,
    ) -> Pair {
        let product = self.field.mul::<false>(v, w);
        (
            self.field.lanes.add(u, product),
            self.field.lanes.sub(u, product),
        )
    }
}

#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn forward(table: &NttTable, x: &mut [u64]) {
    if table.d < LEAST_DEGREE {
        return portable::wide_ntt::forward(table, x);
    }
    forward_stages::<true>(table, x);
}

#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn forward_lazy(table: &NttTable, x: &mut [u64]) {
    if table.d < LEAST_DEGREE {
        return portable::wide_ntt::forward_lazy(table, x);
    }
    forward_stages::<false>(table, x);
}

#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
fn forward_stages<const REDUCE: bool>(table: &NttTable, x: &mut [u64]) {
    let first = Direction::<true>::new(Lanes::new(), table, &table.roots);
    let direction = Direction::<false>::new(Lanes::new(), table, &table.roots);
    let (vectors, _) = x.as_chunks_mut();
    // The first pass reads words. The others read the doubles that it leaves in their places.
    wide_ntt::forward(first, direction, vectors);
    let (blocks, _) = vectors.as_chunks_mut();
    let first = blocks.len();
    for (i, block) in blocks.iter_mut().enumerate() {
        forward_block::<REDUCE>(direction, block, first + i);
    }
}

/// The last five stages, on the registers of a block with root `index` of the first.
///
/// Three are in radix 8, and two within pairs of registers. The comments name the words of a pair
/// in u; v has their partners.
#[inline(always)]
fn forward_block<const REDUCE: bool>(
    direction: Direction<'_, false>,
    block: &mut [Words; BLOCK],
    index: usize,
) {
    let field = direction.field;
    let x =
        Forward(direction, wide_ntt::tree(direction, index)).apply(load_block(direction, block));

    let (pairs, _) = block.as_chunks_mut::<2>();
    for k in 0..PAIRS {
        let pair = PAIRS * index + k;
        // 0 1 4 5
        let y = direction.swap_halves((x[2 * k], x[2 * k + 1]));
        let y = direction.forward::<false, false>(y, direction.two(pair));
        // 0 2 4 6
        let y = direction.forward::<false, false>(direction.swap_words(y), direction.four(pair));

        let (u, v) = direction.swap_halves(direction.swap_words(y));
        let u = field.settle(u);
        let v = field.settle(v);

        let [a, b] = &mut pairs[k];
        direction.store(
            a,
            if REDUCE {
                field.to_residues(u)
            } else {
                field.to_lazy_words(u)
            },
        );
        direction.store(
            b,
            if REDUCE {
                field.to_residues(v)
            } else {
                field.to_lazy_words(v)
            },
        );
    }
}

/// The registers of a block.
#[inline(always)]
fn load_block(direction: Direction<'_, false>, block: &[Words; BLOCK]) -> [__m256d; BLOCK] {
    let mut values = [direction.field.q; BLOCK];
    for (value, words) in values.iter_mut().zip(block) {
        *value = direction.load(words);
    }
    values
}

impl<const INPUT: bool> InverseButterflies for Direction<'_, INPUT> {
    /// A pass gets values up to 1.2q and reduces sums after its first stage: to at most 0.51q, and
    /// products are at most 0.6q. Sums are at most 1.2q after the second stage and 2.4q after the
    /// third, where the pass reduces the two of them that exceed 1.2q.
    #[inline(always)]
    fn inverse<const NEGATE: bool>(self, (u, v): Pair, w: Factors) -> Pair {
        let lanes = self.field.lanes;
        let sum = if NEGATE {
            lanes.sub(v, u)
        } else {
            lanes.sub(u, v)
        };
        (sum, self.field.mul::<NEGATE>(lanes.add(u, v), w))
    }

    #[inline(always)]
    fn last(self, u: __m256d, v: __m256d) -> Pair {
        let Self {
            field,
            last: [scale, root],
            ..
        } = self;
        let sum = field.mul::<false>(field.lanes.sub(u, v), scale);
        let product = field.mul::<false>(field.lanes.add(u, v), root);
        (field.to_residues(sum), field.to_residues(product))
    }
}

#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn inverse(table: &NttTable, x: &mut [u64]) {
    if table.d < LEAST_DEGREE {
        return portable::wide_ntt::inverse(table, x);
    }

    let direction = Direction::<false>::new(Lanes::new(), table, &table.inverse_roots);
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

/// The first five stages, on the registers of a block with root `index` of the fifth; see
/// [`forward_block`].
#[inline(always)]
fn inverse_block<const NEGATE: bool>(
    direction: Direction<'_, false>,
    block: &mut [Words; BLOCK],
    index: usize,
) {
    let mut x = [direction.field.q; BLOCK];
    for k in 0..PAIRS {
        let pair = PAIRS * index + k;
        let y = inverse_pair(direction, [&block[2 * k], &block[2 * k + 1]], pair);
        [x[2 * k], x[2 * k + 1]] = y;
    }
    let x = Inverse::<_, _, NEGATE>(direction, wide_ntt::tree(direction, index)).apply(x);
    for (words, value) in block.iter_mut().zip(x) {
        direction.store(words, value);
    }
}

/// The first two stages, on the words of a pair. The second result is negated.
#[inline(always)]
fn inverse_pair(direction: Direction<'_, false>, [a, b]: [&Words; 2], pair: usize) -> [__m256d; 2] {
    let field = direction.field;
    let lanes = direction.field.lanes;
    // Words below 2q: less 2q they are negative, with q they are at most q.
    let a = lanes.add(field.to_centred_doubles(lanes.load(a)), field.q);
    let b = lanes.add(field.to_centred_doubles(lanes.load(b)), field.q);

    // 0 2 4 6
    let (u, v) = direction.swap_words(direction.swap_halves((a, b)));
    let w = direction.four(pair);
    let (u, v) = (
        field.settle(lanes.add(u, v)),
        field.mul::<false>(lanes.sub(u, v), w),
    );

    // 0 1 4 5
    let (u, v) = direction.swap_words((u, v));
    let w = direction.two(pair);
    let (u, v) = (lanes.add(u, v), field.mul::<false>(lanes.sub(u, v), w));

    let (a, b) = direction.swap_halves((u, v));
    [a, lanes.sub(lanes.splat(0.0), b)]
}
