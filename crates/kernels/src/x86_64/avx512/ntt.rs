//! Negacyclic transforms on sixteen words at a time.
//!
//! The last five stages (the first five of the inverse) run within two registers; the others are in
//! [`crate::x86_64::ntt`].

use std::arch::x86_64::*;

use super::lanes::Avx512;
use crate::ntt::table::{NttTable, Roots};
use crate::portable;
use crate::portable::lanes::Lanes;
use crate::x86_64::{field, ntt};

/// The least degree; smaller transforms are portable.
const LEAST_DEGREE: usize = 64;

/// The words of one register.
type Words = [u32; 16];
type Field = field::Field<Avx512, 16>;
/// The u and v of sixteen butterflies.
type Pair = (__m512i, __m512i);

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(crate) fn forward(table: &NttTable, x: &mut [u32]) {
    forward_stages::<true>(table, x);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(crate) fn forward_lazy(table: &NttTable, x: &mut [u32]) {
    forward_stages::<false>(table, x);
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn forward_stages<const REDUCE: bool>(table: &NttTable, x: &mut [u32]) {
    if table.d < LEAST_DEGREE {
        return portable::ntt::forward(table, x);
    }
    let field = Field::new(Avx512::new(), table.q);
    let (vectors, _) = x.as_chunks_mut();
    ntt::forward(field, &table.roots, vectors);
    let (blocks, _) = vectors.as_chunks_mut();
    for (i, block) in blocks.iter_mut().enumerate() {
        forward_block::<REDUCE>(block, &table.roots, table.d / 32 + 2 * i, field);
    }
}

/// The last five stages, on two runs of 32 words with roots `index` and `index + 1` of the first.
///
/// The instructions of both runs alternate, so that one hides the latencies of the other. Here and
/// below, the comments name the words of the 32 in the four quarters of u; v holds their partners.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn forward_block<const REDUCE: bool>(
    block: &mut [Words; 4],
    roots: &Roots,
    index: usize,
    field: Field,
) {
    let lanes = field.lanes;
    let i = index;
    let k = index + 1;
    let [a, b, c, e] = block;
    let x = field.forward(
        (lanes.load(a), lanes.load(b)),
        field.one_factor(roots.at(i)),
    );
    let y = field.forward(
        (lanes.load(c), lanes.load(e)),
        field.one_factor(roots.at(k)),
    );

    // u = 0-3, 4-7, 16-19, 20-23
    let x = field.forward(swap_halves(x), field.spread::<2>(roots, i, &HALVES));
    let y = field.forward(swap_halves(y), field.spread::<2>(roots, k, &HALVES));

    // u = 0-3, 16-19, 8-11, 24-27
    let x = field.forward(split_quarters(x), field.spread::<4>(roots, i, &FOURS));
    let y = field.forward(split_quarters(y), field.spread::<4>(roots, k, &FOURS));

    // u = 0 1 4 5, 16 17 20 21, 8 9 12 13, 24 25 28 29
    let x = field.forward(swap_pairs(x), field.spread::<8>(roots, i, &EIGHTS));
    let y = field.forward(swap_pairs(y), field.spread::<8>(roots, k, &EIGHTS));

    // u = 0 2 4 6, 8 10 12 14, 16 18 20 22, 24 26 28 30
    let x = field.forward(pick(x, &CROSSED), field.in_order(roots, i));
    let y = field.forward(pick(y, &CROSSED), field.in_order(roots, k));

    for ((a, b), pair) in [((a, b), x), ((c, e), y)] {
        let (u, v) = pick(pair, &INTERLEAVED);
        lanes.store(a, field.finish::<REDUCE>(u));
        lanes.store(b, field.finish::<REDUCE>(v));
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(crate) fn inverse(table: &NttTable, x: &mut [u32]) {
    if table.d < LEAST_DEGREE {
        return portable::ntt::inverse(table, x);
    }
    let field = Field::new(Avx512::new(), table.q);
    let (vectors, _) = x.as_chunks_mut();
    let (blocks, _) = vectors.as_chunks_mut();
    for (i, block) in blocks.iter_mut().enumerate() {
        inverse_block(block, &table.inverse_roots, table.d / 32 + i, field);
    }
    ntt::inverse(field, table, vectors);
}

/// The first five stages, on 32 words; `index` is the root of the fifth.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn inverse_block(block: &mut [Words; 2], roots: &Roots, index: usize, field: Field) {
    let lanes = field.lanes;
    let [a, b] = block;
    let x = (lanes.load(a), lanes.load(b));
    // u = 0 2 4 6, 8 10 12 14, 16 18 20 22, 24 26 28 30
    let x = field.inverse(pick(x, &SPLIT), field.in_order(roots, index));
    // u = 0 1 4 5, 16 17 20 21, 8 9 12 13, 24 25 28 29
    let x = field.inverse(pick(x, &CROSSED), field.spread::<8>(roots, index, &EIGHTS));
    // u = 0-3, 16-19, 8-11, 24-27
    let x = field.inverse(swap_pairs(x), field.spread::<4>(roots, index, &FOURS));
    // u = 0-3, 16-19, 4-7, 20-23
    let x = field.inverse(swap_halves(x), field.spread::<2>(roots, index, &QUARTERS));
    // u = 0-15
    let (u, v) = field.inverse(split_quarters(x), field.one_factor(roots.at(index)));
    lanes.store(a, u);
    lanes.store(b, v);
}

/// The lower halves of both, then the upper ones.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn swap_halves((a, b): Pair) -> Pair {
    (
        _mm512_shuffle_i32x4::<0x44>(a, b),
        _mm512_shuffle_i32x4::<0xEE>(a, b),
    )
}

/// The even quarters of both, then the odd ones.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn split_quarters((a, b): Pair) -> Pair {
    (
        _mm512_shuffle_i32x4::<0x88>(a, b),
        _mm512_shuffle_i32x4::<0xDD>(a, b),
    )
}

/// In each quarter: the lower two words of both, then the upper ones.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn swap_pairs((a, b): Pair) -> Pair {
    (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b))
}

/// The words at the given places, where `a` has places 0-15 and `b` 16-31.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn pick((a, b): Pair, places: &[Words; 2]) -> Pair {
    let lanes = Avx512::new();
    let [u, v] = [lanes.load(&places[0]), lanes.load(&places[1])];
    (
        _mm512_permutex2var_epi32(a, u, b),
        _mm512_permutex2var_epi32(a, v, b),
    )
}

/// The even words, then the odd ones.
const SPLIT: [Words; 2] = [
    [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30],
    [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31],
];

/// From even and odd words back to their order.
const INTERLEAVED: [Words; 2] = [
    [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23],
    [8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31],
];

/// From pairs 0 1 4 5 … and 2 3 6 7 … to even and odd words, and back.
const CROSSED: [Words; 2] = [
    [0, 16, 2, 18, 8, 24, 10, 26, 4, 20, 6, 22, 12, 28, 14, 30],
    [1, 17, 3, 19, 9, 25, 11, 27, 5, 21, 7, 23, 13, 29, 15, 31],
];

/// The places of two roots for u = 0-3, 4-7, 16-19, 20-23.
const HALVES: Words = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// The places of two roots for u = 0-3, 16-19, 4-7, 20-23.
const QUARTERS: Words = [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1];

/// The places of four roots for u = 0-3, 16-19, 8-11, 24-27.
const FOURS: Words = [0, 0, 0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 3, 3, 3, 3];

/// The places of eight roots for u = 0 1 4 5, 16 17 20 21, 8 9 12 13, 24 25 28 29.
const EIGHTS: Words = [0, 0, 1, 1, 4, 4, 5, 5, 2, 2, 3, 3, 6, 6, 7, 7];
