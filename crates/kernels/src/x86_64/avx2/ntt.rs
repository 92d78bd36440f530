//! Negacyclic transforms on eight words at a time.
//!
//! Stages whose halves are 16 words or longer run two at a time over the whole
//! array; the last four (the first four of the inverse) run in two registers.

use core::arch::x86_64::*;

use super::lanes::{Factors, Field, Words, load, store};
use crate::ntt::{NttTable, Roots};
use crate::portable;

/// Below this degree the portable transform runs.
const LEAST_DEGREE: usize = 32;

#[target_feature(enable = "avx2")]
pub(crate) fn forward(table: &NttTable, x: &mut [u32]) {
    if table.d < LEAST_DEGREE {
        return portable::ntt::forward(table, x);
    }
    forward_stages::<true>(table, x);
}

#[target_feature(enable = "avx2")]
pub(crate) fn forward_lazy(table: &NttTable, x: &mut [u32]) {
    if table.d < LEAST_DEGREE {
        return portable::ntt::forward_lazy(table, x);
    }
    forward_stages::<false>(table, x);
}

#[inline]
#[target_feature(enable = "avx2")]
fn forward_stages<const REDUCE: bool>(table: &NttTable, x: &mut [u32]) {
    let field = Field::new(table.q);
    let vectors = x.as_chunks_mut::<8>().0;
    let mut half = vectors.len() / 2;
    if half.ilog2() % 2 == 1 {
        forward_radix2(vectors, Factors::splat(table.roots.at(1)), field);
        half /= 2;
    }
    while half >= 4 {
        let first = vectors.len() / (2 * half);
        for (i, block) in vectors.chunks_exact_mut(2 * half).enumerate() {
            forward_radix4(block, &table.roots, first + i, field);
        }
        half /= 4;
    }
    let (pairs, _) = vectors.as_chunks_mut::<2>();
    for (i, pair) in pairs.iter_mut().enumerate() {
        forward_pair::<REDUCE>(pair, &table.roots, table.d / 16 + i, field);
    }
}

/// (u, v) ← (u + w·v, u − w·v): below 4q in and out (Cooley–Tukey).
#[inline]
#[target_feature(enable = "avx2")]
fn forward_butterfly(u: __m256i, v: __m256i, w: Factors, field: Field) -> (__m256i, __m256i) {
    let sum = field.subtract_2q(u);
    let product = field.mul_lazy(v, w);
    (_mm256_add_epi32(sum, product), field.difference(sum, product))
}

/// One stage on one block.
#[inline]
#[target_feature(enable = "avx2")]
fn forward_radix2(block: &mut [Words], w: Factors, field: Field) {
    let (low, high) = block.split_at_mut(block.len() / 2);
    for (a, b) in low.iter_mut().zip(high) {
        let (u, v) = forward_butterfly(load(a), load(b), w, field);
        store(a, u);
        store(b, v);
    }
}

/// Two stages on one block, the first one with the root at `index`.
#[inline]
#[target_feature(enable = "avx2")]
fn forward_radix4(block: &mut [Words], roots: &Roots, index: usize, field: Field) {
    let outer = Factors::splat(roots.at(index));
    let left = Factors::splat(roots.at(2 * index));
    let right = Factors::splat(roots.at(2 * index + 1));
    let quarter = block.len() / 4;
    let (low, high) = block.split_at_mut(2 * quarter);
    let (a, b) = low.split_at_mut(quarter);
    let (c, e) = high.split_at_mut(quarter);
    for (((a, b), c), e) in a.iter_mut().zip(b).zip(c).zip(e) {
        let (va, vc) = forward_butterfly(load(a), load(c), outer, field);
        let (vb, ve) = forward_butterfly(load(b), load(e), outer, field);
        let (va, vb) = forward_butterfly(va, vb, left, field);
        let (vc, ve) = forward_butterfly(vc, ve, right, field);
        store(a, va);
        store(b, vb);
        store(c, vc);
        store(e, ve);
    }
}

/// The last four stages, on words 0..8 and 8..16 of a block; `index` is the root of the first.
///
/// The comments say which words the two halves of u hold; those of v are the
/// partners in the butterfly.
#[inline]
#[target_feature(enable = "avx2")]
fn forward_pair<const REDUCE: bool>(pair: &mut [Words; 2], roots: &Roots, index: usize, field: Field) {
    let w = Factors::splat(roots.at(index));
    let (a, b) = forward_butterfly(load(&pair[0]), load(&pair[1]), w, field);
    // u = 0-3, 8-11
    let (u, v) = swap_halves(a, b);
    let (u, v) = forward_butterfly(u, v, spread2(roots, index), field);
    // u = 0 1 4 5, 8 9 12 13
    let (u, v) = (_mm256_unpacklo_epi64(u, v), _mm256_unpackhi_epi64(u, v));
    let (u, v) = forward_butterfly(u, v, spread4(roots, index), field);
    // u = 0 4 2 6, 8 12 10 14
    let (u, v) = (pick::<0x88>(u, v), pick::<0xDD>(u, v));
    let w = spread8(roots, index, &CROSSED);
    let (u, v) = forward_butterfly(u, v, w, field);
    let (low, high) = (_mm256_unpacklo_epi32(u, v), _mm256_unpackhi_epi32(u, v));
    let (u, v) = (_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
    let (a, b) = swap_halves(u, v);
    store(&mut pair[0], finish::<REDUCE>(a, field));
    store(&mut pair[1], finish::<REDUCE>(b, field));
}

/// The lower halves of a and b, then the upper ones.
#[inline]
#[target_feature(enable = "avx2")]
fn swap_halves(a: __m256i, b: __m256i) -> (__m256i, __m256i) {
    let low = _mm256_permute2x128_si256::<0x20>(a, b);
    (low, _mm256_permute2x128_si256::<0x31>(a, b))
}

/// From [0, 4q) to [0, q), where asked for.
#[inline]
#[target_feature(enable = "avx2")]
fn finish<const REDUCE: bool>(x: __m256i, field: Field) -> __m256i {
    if REDUCE { field.subtract_q(field.subtract_2q(x)) } else { x }
}

/// Two words of each half of u, then two of v, as the four pairs of bits say.
#[inline]
#[target_feature(enable = "avx2")]
fn pick<const WHICH: i32>(u: __m256i, v: __m256i) -> __m256i {
    let (u, v) = (_mm256_castsi256_ps(u), _mm256_castsi256_ps(v));
    _mm256_castps_si256(_mm256_shuffle_ps::<WHICH>(u, v))
}

/// The order of roots for u = 0 4 2 6, 8 12 10 14.
const CROSSED: Words = [0, 2, 1, 3, 4, 6, 5, 7];

/// The order of roots for u = 0 2 4 6, 8 10 12 14.
const STRAIGHT: Words = [0, 1, 2, 3, 4, 5, 6, 7];

/// The two roots of block `index`, for u = 0-3, 8-11.
#[inline]
#[target_feature(enable = "avx2")]
fn spread2(roots: &Roots, index: usize) -> Factors {
    const ORDER: Words = [0, 0, 0, 0, 1, 1, 1, 1];
    let order = load(&ORDER);
    let both = |words: &[u32]| {
        let [low, high] = words.as_chunks::<2>().0[index];
        let pair = u64::from(low) | u64::from(high) << 32;
        _mm256_permutevar8x32_epi32(_mm256_set1_epi64x(pair as i64), order)
    };
    Factors::twin(both(&roots.values), both(&roots.quotients))
}

/// The four roots of block `index`, for u = 0 1 4 5, 8 9 12 13.
#[inline]
#[target_feature(enable = "avx2")]
fn spread4(roots: &Roots, index: usize) -> Factors {
    const ORDER: Words = [0, 0, 1, 1, 2, 2, 3, 3];
    let order = load(&ORDER);
    let four = |words: &[u32]| {
        let words = &words.as_chunks::<4>().0[index];
        // SAFETY: the array covers the 16 bytes that are read; no alignment is asked for.
        let words = unsafe { _mm_loadu_si128(words.as_ptr().cast()) };
        _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(words), order)
    };
    Factors::twin(four(&roots.values), four(&roots.quotients))
}

/// The eight roots of block `index` in the order given.
#[inline]
#[target_feature(enable = "avx2")]
fn spread8(roots: &Roots, index: usize, order: &Words) -> Factors {
    let order = load(order);
    let eight = |words: &[u32]| {
        let words = &words.as_chunks::<8>().0[index];
        _mm256_permutevar8x32_epi32(load(words), order)
    };
    Factors::new(eight(&roots.values), eight(&roots.quotients))
}

#[target_feature(enable = "avx2")]
pub(crate) fn inverse(table: &NttTable, x: &mut [u32]) {
    if table.d < LEAST_DEGREE {
        return portable::ntt::inverse(table, x);
    }
    let field = Field::new(table.q);
    let vectors = x.as_chunks_mut::<8>().0;
    let (pairs, _) = vectors.as_chunks_mut::<2>();
    for (i, pair) in pairs.iter_mut().enumerate() {
        inverse_pair(pair, &table.inverse_roots, table.d / 16 + i, field);
    }
    let mut half = 4;
    while 2 * half < vectors.len() {
        let first = vectors.len() / (2 * half);
        for (i, block) in vectors.chunks_exact_mut(2 * half).enumerate() {
            inverse_radix4(block, &table.inverse_roots, first + i, field);
        }
        half *= 4;
    }
    if 2 * half == vectors.len() {
        inverse_last_radix4(vectors, table, field);
    } else {
        inverse_last_radix2(vectors, table, field);
    }
}

/// (u, v) ← (u + v, w·(u − v)): below 2q in and out (Gentleman–Sande).
#[inline]
#[target_feature(enable = "avx2")]
fn inverse_butterfly(u: __m256i, v: __m256i, w: Factors, field: Field) -> (__m256i, __m256i) {
    let sum = field.subtract_2q(_mm256_add_epi32(u, v));
    (sum, field.mul_lazy(field.difference(u, v), w))
}

/// The butterfly of the last stage, with the division by d inside, reduced to [0, q).
#[inline]
#[target_feature(enable = "avx2")]
fn last_butterfly(u: __m256i, v: __m256i, table: &NttTable, field: Field) -> (__m256i, __m256i) {
    let sum = field.mul_lazy(_mm256_add_epi32(u, v), Factors::splat(table.scale));
    let root = Factors::splat(table.scaled_root);
    let difference = field.mul_lazy(field.difference(u, v), root);
    (field.subtract_q(sum), field.subtract_q(difference))
}

/// Two stages on one block, the second one with the root at `index`.
#[inline]
#[target_feature(enable = "avx2")]
fn inverse_radix4(block: &mut [Words], roots: &Roots, index: usize, field: Field) {
    let outer = Factors::splat(roots.at(index));
    let left = Factors::splat(roots.at(2 * index));
    let right = Factors::splat(roots.at(2 * index + 1));
    let quarter = block.len() / 4;
    let (low, high) = block.split_at_mut(2 * quarter);
    let (a, b) = low.split_at_mut(quarter);
    let (c, e) = high.split_at_mut(quarter);
    for (((a, b), c), e) in a.iter_mut().zip(b).zip(c).zip(e) {
        let (va, vb) = inverse_butterfly(load(a), load(b), left, field);
        let (vc, ve) = inverse_butterfly(load(c), load(e), right, field);
        let (va, vc) = inverse_butterfly(va, vc, outer, field);
        let (vb, ve) = inverse_butterfly(vb, ve, outer, field);
        store(a, va);
        store(b, vb);
        store(c, vc);
        store(e, ve);
    }
}

/// The last two stages.
#[inline]
#[target_feature(enable = "avx2")]
fn inverse_last_radix4(vectors: &mut [Words], table: &NttTable, field: Field) {
    let left = Factors::splat(table.inverse_roots.at(2));
    let right = Factors::splat(table.inverse_roots.at(3));
    let quarter = vectors.len() / 4;
    let (low, high) = vectors.split_at_mut(2 * quarter);
    let (a, b) = low.split_at_mut(quarter);
    let (c, e) = high.split_at_mut(quarter);
    for (((a, b), c), e) in a.iter_mut().zip(b).zip(c).zip(e) {
        let (va, vb) = inverse_butterfly(load(a), load(b), left, field);
        let (vc, ve) = inverse_butterfly(load(c), load(e), right, field);
        let (va, vc) = last_butterfly(va, vc, table, field);
        let (vb, ve) = last_butterfly(vb, ve, table, field);
        store(a, va);
        store(b, vb);
        store(c, vc);
        store(e, ve);
    }
}

/// The last stage alone.
#[inline]
#[target_feature(enable = "avx2")]
fn inverse_last_radix2(vectors: &mut [Words], table: &NttTable, field: Field) {
    let (low, high) = vectors.split_at_mut(vectors.len() / 2);
    for (a, b) in low.iter_mut().zip(high) {
        let (u, v) = last_butterfly(load(a), load(b), table, field);
        store(a, u);
        store(b, v);
    }
}

/// The first four stages, on words 0..8 and 8..16 of a block; `index` is the root of the fourth.
#[inline]
#[target_feature(enable = "avx2")]
fn inverse_pair(pair: &mut [Words; 2], roots: &Roots, index: usize, field: Field) {
    let (low, high) = swap_halves(load(&pair[0]), load(&pair[1]));
    // u = 0 2 4 6, 8 10 12 14
    let (u, v) = (pick::<0x88>(low, high), pick::<0xDD>(low, high));
    let w = spread8(roots, index, &STRAIGHT);
    let (u, v) = inverse_butterfly(u, v, w, field);
    let (low, high) = (_mm256_unpacklo_epi32(u, v), _mm256_unpackhi_epi32(u, v));
    // u = 0 1 4 5, 8 9 12 13
    let (u, v) = (_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
    let (u, v) = inverse_butterfly(u, v, spread4(roots, index), field);
    // u = 0-3, 8-11
    let (u, v) = (_mm256_unpacklo_epi64(u, v), _mm256_unpackhi_epi64(u, v));
    let (u, v) = inverse_butterfly(u, v, spread2(roots, index), field);
    let (a, b) = swap_halves(u, v);
    let w = Factors::splat(roots.at(index));
    let (a, b) = inverse_butterfly(a, b, w, field);
    store(&mut pair[0], a);
    store(&mut pair[1], b);
}
