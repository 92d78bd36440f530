//! Negacyclic transforms on eight words at a time.
//!
//! The last four stages (the first four of the inverse) run within two registers; the others are in
//! [`crate::x86_64::ntt`].

use std::arch::x86_64::*;

use super::lanes::Avx2;
use crate::ntt::table::{NttTable, Roots};
use crate::portable;
use crate::portable::lanes::Lanes;
use crate::x86_64::{field, ntt};

/// The least degree; smaller transforms are portable.
const LEAST_DEGREE: usize = 32;

/// The words of one register.
type Words = [u32; 8];
type Field = field::Field<Avx2, 8>;
/// The u and v of eight butterflies.
type Pair = (__m256i, __m256i);

#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn forward(table: &NttTable, x: &mut [u32]) {
    forward_stages::<true>(table, x);
}

#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn forward_lazy(table: &NttTable, x: &mut [u32]) {
    forward_stages::<false>(table, x);
}

#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
fn forward_stages<const REDUCE: bool>(table: &NttTable, x: &mut [u32]) {
    if table.d < LEAST_DEGREE {
        return portable::ntt::forward(table, x);
    }
    let field = Field::new(Avx2::new(), table.q);
    let (vectors, _) = x.as_chunks_mut();
    ntt::forward(field, &table.roots, vectors);
    let (pairs, _) = vectors.as_chunks_mut();
    for (i, pair) in pairs.iter_mut().enumerate() {
        forward_pair::<REDUCE>(pair, &table.roots, table.d / 16 + i, field);
    }
}

/// The last four stages, on words 0..8 and 8..16 of a block; `index` is the root of the first.
///
/// The comments name the words in the two halves of u; v holds their partners in the butterfly.
#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
fn forward_pair<const REDUCE: bool>(
    pair: &mut [Words; 2],
    roots: &Roots,
    index: usize,
    field: Field,
) {
    let lanes = field.lanes;
    let [a, b] = pair;

    let x = field.forward(
        (lanes.load(a), lanes.load(b)),
        field.one_factor(roots.at(index)),
    );

    // u = 0-3, 8-11
    let x = field.forward(swap_halves(x), field.spread::<2>(roots, index, &HALVES));

    // u = 0 1 4 5, 8 9 12 13
    let x = field.forward(swap_pairs(x), field.spread::<4>(roots, index, &PAIRS));

    // u = 0 4 2 6, 8 12 10 14
    let x = field.forward(evens_and_odds(x), field.spread::<8>(roots, index, &CROSSED));

    // Back to the order of words, which takes three permutations.
    let (u, v) = swap_halves(swap_pairs(interleave(x)));
    lanes.store(a, field.finish::<REDUCE>(u));
    lanes.store(b, field.finish::<REDUCE>(v));
}

#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn inverse(table: &NttTable, x: &mut [u32]) {
    if table.d < LEAST_DEGREE {
        return portable::ntt::inverse(table, x);
    }
    let field = Field::new(Avx2::new(), table.q);
    let (vectors, _) = x.as_chunks_mut();
    let (pairs, _) = vectors.as_chunks_mut();
    for (i, pair) in pairs.iter_mut().enumerate() {
        inverse_pair(pair, &table.inverse_roots, table.d / 16 + i, field);
    }
    ntt::inverse(field, table, vectors);
}

/// The first four stages, on words 0..8 and 8..16 of a block; `index` is the root of the fourth.
#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
fn inverse_pair(pair: &mut [Words; 2], roots: &Roots, index: usize, field: Field) {
    let lanes = field.lanes;
    let [a, b] = pair;
    let x = swap_halves((lanes.load(a), lanes.load(b)));
    // u = 0 2 4 6, 8 10 12 14
    let x = field.inverse(evens_and_odds(x), field.in_order(roots, index));
    // u = 0 1 4 5, 8 9 12 13
    let x = field.inverse(
        swap_pairs(interleave(x)),
        field.spread::<4>(roots, index, &PAIRS),
    );
    // u = 0-3, 8-11
    let x = field.inverse(swap_pairs(x), field.spread::<2>(roots, index, &HALVES));
    let (u, v) = field.inverse(swap_halves(x), field.one_factor(roots.at(index)));
    lanes.store(a, u);
    lanes.store(b, v);
}

/// The lower halves of both, then the upper ones.
#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
fn swap_halves((a, b): Pair) -> Pair {
    (
        _mm256_permute2x128_si256::<0x20>(a, b),
        _mm256_permute2x128_si256::<0x31>(a, b),
    )
}

/// In each half: the lower two words of both, then the upper ones.
#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
fn swap_pairs((a, b): Pair) -> Pair {
    (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b))
}

/// In each half: the lower two words of both, interleaved, then the upper ones.
#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
fn interleave((a, b): Pair) -> Pair {
    (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b))
}

/// In each half: the even words of both, then the odd ones.
#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
fn evens_and_odds((a, b): Pair) -> Pair {
    let a = _mm256_castsi256_ps(a);
    let b = _mm256_castsi256_ps(b);
    let evens = _mm256_shuffle_ps::<0x88>(a, b);
    let odds = _mm256_shuffle_ps::<0xDD>(a, b);
    (_mm256_castps_si256(evens), _mm256_castps_si256(odds))
}

/// The places of two roots for u = 0-3, 8-11.
const HALVES: Words = [0, 0, 0, 0, 1, 1, 1, 1];

/// The places of four roots for u = 0 1 4 5, 8 9 12 13.
const PAIRS: Words = [0, 0, 1, 1, 2, 2, 3, 3];

/// The places of eight roots for u = 0 4 2 6, 8 12 10 14.
const CROSSED: Words = [0, 2, 1, 3, 4, 6, 5, 7];
