//! Negacyclic transforms on sixteen words at a time.
//!
//! Stages whose halves are 32 words or longer run two at a time over the whole
//! array; the last five (the first five of the inverse) run in two registers.

use core::arch::x86_64::*;

use super::lanes::{Factors, Field, Words, load, store};
use crate::ntt::{NttTable, Roots};
use crate::portable;

/// Below this degree the portable transform runs.
const LEAST_DEGREE: usize = 64;

#[target_feature(enable = "avx512f")]
pub(crate) fn forward(table: &NttTable, x: &mut [u32]) {
    if table.d < LEAST_DEGREE {
        return portable::ntt::forward(table, x);
    }
    forward_stages::<true>(table, x);
}

#[target_feature(enable = "avx512f")]
pub(crate) fn forward_lazy(table: &NttTable, x: &mut [u32]) {
    if table.d < LEAST_DEGREE {
        return portable::ntt::forward_lazy(table, x);
    }
    forward_stages::<false>(table, x);
}

#[inline]
#[target_feature(enable = "avx512f")]
fn forward_stages<const REDUCE: bool>(table: &NttTable, x: &mut [u32]) {
    let field = Field::new(table.q);
    let vectors = x.as_chunks_mut::<16>().0;
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
    let (blocks, _) = vectors.as_chunks_mut::<4>();
    for (i, block) in blocks.iter_mut().enumerate() {
        forward_block::<REDUCE>(block, &table.roots, table.d / 32 + 2 * i, field);
    }
}

/// (u, v) ← (u + w·v, u − w·v): below 4q in and out (Cooley–Tukey).
#[inline]
#[target_feature(enable = "avx512f")]
fn forward_butterfly(u: __m512i, v: __m512i, w: Factors, field: Field) -> (__m512i, __m512i) {
    let sum = field.subtract_2q(u);
    let product = field.mul_lazy(v, w);
    (_mm512_add_epi32(sum, product), field.difference(sum, product))
}

/// One stage on one block.
#[inline]
#[target_feature(enable = "avx512f")]
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
#[target_feature(enable = "avx512f")]
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

/// The u and v of sixteen butterflies.
type Pair = (__m512i, __m512i);

/// The last five stages, on 32 words each with roots `index` and `index + 1` of the first.
///
/// The two go abreast, so that one fills the other's waits. Here and below the comments say
/// which words of the 32 the four quarters of u hold; those of v are their partners.
#[inline]
#[target_feature(enable = "avx512f")]
fn forward_block<const REDUCE: bool>(block: &mut [Words; 4], roots: &Roots, index: usize, field: Field) {
    let (i, k) = (index, index + 1);
    let [a, b, c, e] = block;
    let x = forward_butterfly(load(a), load(b), Factors::splat(roots.at(i)), field);
    let y = forward_butterfly(load(c), load(e), Factors::splat(roots.at(k)), field);
    let (x, y) = (forward_by_8(x, roots, i, field), forward_by_8(y, roots, k, field));
    let (x, y) = (forward_by_4(x, roots, i, field), forward_by_4(y, roots, k, field));
    let (x, y) = (forward_by_2(x, roots, i, field), forward_by_2(y, roots, k, field));
    let (x, y) = (forward_by_1(x, roots, i, field), forward_by_1(y, roots, k, field));
    for ((a, b), (u, v)) in [((a, b), x), ((c, e), y)] {
        let low = _mm512_permutex2var_epi32(u, load(&LOW), v);
        let high = _mm512_permutex2var_epi32(u, load(&HIGH), v);
        store(a, finish::<REDUCE>(low, field));
        store(b, finish::<REDUCE>(high, field));
    }
}

/// u = 0-3, 4-7, 16-19, 20-23.
#[inline]
#[target_feature(enable = "avx512f")]
fn forward_by_8((a, b): Pair, roots: &Roots, index: usize, field: Field) -> Pair {
    let (u, v) = (_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0xEE>(a, b));
    forward_butterfly(u, v, spread2(roots, index, &HALVES), field)
}

/// u = 0-3, 16-19, 8-11, 24-27.
#[inline]
#[target_feature(enable = "avx512f")]
fn forward_by_4((u, v): Pair, roots: &Roots, index: usize, field: Field) -> Pair {
    let (u, v) = (_mm512_shuffle_i32x4::<0x88>(u, v), _mm512_shuffle_i32x4::<0xDD>(u, v));
    forward_butterfly(u, v, spread4(roots, index), field)
}

/// u = 0 1 4 5, 16 17 20 21, 8 9 12 13, 24 25 28 29.
#[inline]
#[target_feature(enable = "avx512f")]
fn forward_by_2((u, v): Pair, roots: &Roots, index: usize, field: Field) -> Pair {
    let (u, v) = (_mm512_unpacklo_epi64(u, v), _mm512_unpackhi_epi64(u, v));
    forward_butterfly(u, v, spread8(roots, index), field)
}

/// u = 0 2 4 6, 8 10 12 14, 16 18 20 22, 24 26 28 30.
#[inline]
#[target_feature(enable = "avx512f")]
fn forward_by_1((u, v): Pair, roots: &Roots, index: usize, field: Field) -> Pair {
    let evens = _mm512_permutex2var_epi32(u, load(&SCATTERED_EVENS), v);
    let odds = _mm512_permutex2var_epi32(u, load(&SCATTERED_ODDS), v);
    forward_butterfly(evens, odds, sixteen(roots, index), field)
}

/// From [0, 4q) to [0, q), where asked for.
#[inline]
#[target_feature(enable = "avx512f")]
fn finish<const REDUCE: bool>(x: __m512i, field: Field) -> __m512i {
    if REDUCE { field.subtract_q(field.subtract_2q(x)) } else { x }
}

/// Where the two registers after [`forward_by_2`] hold the words 0, 2 … 30.
const SCATTERED_EVENS: Words = [0, 16, 2, 18, 8, 24, 10, 26, 4, 20, 6, 22, 12, 28, 14, 30];

/// Where they hold the words 1, 3 … 31.
const SCATTERED_ODDS: Words = [1, 17, 3, 19, 9, 25, 11, 27, 5, 21, 7, 23, 13, 29, 15, 31];

/// Where evens and odds hold the words 0 … 15.
const LOW: Words = [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23];

/// Where evens and odds hold the words 16 … 31.
const HIGH: Words = [8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31];

/// The words 0, 2 … 30.
const EVENS: Words = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30];

/// The words 1, 3 … 31.
const ODDS: Words = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31];

/// Where evens and odds hold u of [`inverse_by_2`].
const TWO_LOW: Words = [0, 16, 2, 18, 8, 24, 10, 26, 4, 20, 6, 22, 12, 28, 14, 30];

/// Where evens and odds hold v of [`inverse_by_2`].
const TWO_HIGH: Words = [1, 17, 3, 19, 9, 25, 11, 27, 5, 21, 7, 23, 13, 29, 15, 31];

/// Roots 0 and 1 for u = 0-7, 16-23.
const HALVES: Words = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// Roots 0 and 1 for u = 0-3, 16-19, 4-7, 20-23.
const QUARTERS: Words = [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1];

/// The two roots of block `index`, spread as `order` says.
#[inline]
#[target_feature(enable = "avx512f")]
fn spread2(roots: &Roots, index: usize, order: &Words) -> Factors {
    let order = load(order);
    let both = |words: &[u32]| {
        let [low, high] = words.as_chunks::<2>().0[index];
        let pair = u64::from(low) | u64::from(high) << 32;
        _mm512_permutexvar_epi32(order, _mm512_set1_epi64(pair as i64))
    };
    Factors::twin(both(&roots.values), both(&roots.quotients))
}

/// The four roots of block `index`, for u = 0-3, 16-19, 8-11, 24-27.
#[inline]
#[target_feature(enable = "avx512f")]
fn spread4(roots: &Roots, index: usize) -> Factors {
    const ORDER: Words = [0, 0, 0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 3, 3, 3, 3];
    let order = load(&ORDER);
    let four = |words: &[u32]| {
        let words = &words.as_chunks::<4>().0[index];
        // SAFETY: the array covers the 16 bytes that are read; no alignment is asked for.
        let words = unsafe { _mm_loadu_si128(words.as_ptr().cast()) };
        _mm512_permutexvar_epi32(order, _mm512_castsi128_si512(words))
    };
    Factors::twin(four(&roots.values), four(&roots.quotients))
}

/// The eight roots of block `index`, for u = 0 1 4 5, 16 17 20 21, 8 9 12 13, 24 25 28 29.
#[inline]
#[target_feature(enable = "avx512f")]
fn spread8(roots: &Roots, index: usize) -> Factors {
    const ORDER: Words = [0, 0, 1, 1, 4, 4, 5, 5, 2, 2, 3, 3, 6, 6, 7, 7];
    let order = load(&ORDER);
    let eight = |words: &[u32]| {
        let words = &words.as_chunks::<8>().0[index];
        // SAFETY: the array covers the 32 bytes that are read; no alignment is asked for.
        let words = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
        _mm512_permutexvar_epi32(order, _mm512_castsi256_si512(words))
    };
    Factors::twin(eight(&roots.values), eight(&roots.quotients))
}

/// The sixteen roots of block `index` in their order.
#[inline]
#[target_feature(enable = "avx512f")]
fn sixteen(roots: &Roots, index: usize) -> Factors {
    let value = load(&roots.values.as_chunks().0[index]);
    Factors::new(value, load(&roots.quotients.as_chunks().0[index]))
}

#[target_feature(enable = "avx512f")]
pub(crate) fn inverse(table: &NttTable, x: &mut [u32]) {
    if table.d < LEAST_DEGREE {
        return portable::ntt::inverse(table, x);
    }
    let field = Field::new(table.q);
    let vectors = x.as_chunks_mut::<16>().0;
    let (blocks, _) = vectors.as_chunks_mut::<2>();
    for (i, block) in blocks.iter_mut().enumerate() {
        inverse_block(block, &table.inverse_roots, table.d / 32 + i, field);
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
#[target_feature(enable = "avx512f")]
fn inverse_butterfly(u: __m512i, v: __m512i, w: Factors, field: Field) -> (__m512i, __m512i) {
    let sum = field.subtract_2q(_mm512_add_epi32(u, v));
    (sum, field.mul_lazy(field.difference(u, v), w))
}

/// The butterfly of the last stage, with the division by d inside, reduced to [0, q).
#[inline]
#[target_feature(enable = "avx512f")]
fn last_butterfly(u: __m512i, v: __m512i, table: &NttTable, field: Field) -> (__m512i, __m512i) {
    let sum = field.mul_lazy(_mm512_add_epi32(u, v), Factors::splat(table.scale));
    let root = Factors::splat(table.scaled_root);
    let difference = field.mul_lazy(field.difference(u, v), root);
    (field.subtract_q(sum), field.subtract_q(difference))
}

/// Two stages on one block, the second one with the root at `index`.
#[inline]
#[target_feature(enable = "avx512f")]
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
#[target_feature(enable = "avx512f")]
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
#[target_feature(enable = "avx512f")]
fn inverse_last_radix2(vectors: &mut [Words], table: &NttTable, field: Field) {
    let (low, high) = vectors.split_at_mut(vectors.len() / 2);
    for (a, b) in low.iter_mut().zip(high) {
        let (u, v) = last_butterfly(load(a), load(b), table, field);
        store(a, u);
        store(b, v);
    }
}

/// The first five stages, on 32 words with root `index` of the fifth.
#[inline]
#[target_feature(enable = "avx512f")]
fn inverse_block(block: &mut [Words; 2], roots: &Roots, index: usize, field: Field) {
    let [a, b] = block;
    let x = inverse_by_1((load(a), load(b)), roots, index, field);
    let x = inverse_by_2(x, roots, index, field);
    let x = inverse_by_4(x, roots, index, field);
    let x = inverse_by_8(x, roots, index, field);
    let x = inverse_by_16(x, roots, index, field);
    store(a, x.0);
    store(b, x.1);
}

/// u = 0 2 4 6, 8 10 12 14, 16 18 20 22, 24 26 28 30.
#[inline]
#[target_feature(enable = "avx512f")]
fn inverse_by_1((a, b): Pair, roots: &Roots, index: usize, field: Field) -> Pair {
    let (u, v) =
        (_mm512_permutex2var_epi32(a, load(&EVENS), b), _mm512_permutex2var_epi32(a, load(&ODDS), b));
    inverse_butterfly(u, v, sixteen(roots, index), field)
}

/// u = 0 1 4 5, 16 17 20 21, 8 9 12 13, 24 25 28 29.
#[inline]
#[target_feature(enable = "avx512f")]
fn inverse_by_2((evens, odds): Pair, roots: &Roots, index: usize, field: Field) -> Pair {
    let (u, v) = (
        _mm512_permutex2var_epi32(evens, load(&TWO_LOW), odds),
        _mm512_permutex2var_epi32(evens, load(&TWO_HIGH), odds),
    );
    inverse_butterfly(u, v, spread8(roots, index), field)
}

/// u = 0-3, 16-19, 8-11, 24-27.
#[inline]
#[target_feature(enable = "avx512f")]
fn inverse_by_4((u, v): Pair, roots: &Roots, index: usize, field: Field) -> Pair {
    let (u, v) = (_mm512_unpacklo_epi64(u, v), _mm512_unpackhi_epi64(u, v));
    inverse_butterfly(u, v, spread4(roots, index), field)
}

/// u = 0-3, 16-19, 4-7, 20-23.
#[inline]
#[target_feature(enable = "avx512f")]
fn inverse_by_8((u, v): Pair, roots: &Roots, index: usize, field: Field) -> Pair {
    let (u, v) = (_mm512_shuffle_i32x4::<0x44>(u, v), _mm512_shuffle_i32x4::<0xEE>(u, v));
    inverse_butterfly(u, v, spread2(roots, index, &QUARTERS), field)
}

/// u = 0-15.
#[inline]
#[target_feature(enable = "avx512f")]
fn inverse_by_16((u, v): Pair, roots: &Roots, index: usize, field: Field) -> Pair {
    let (u, v) = (_mm512_shuffle_i32x4::<0x88>(u, v), _mm512_shuffle_i32x4::<0xDD>(u, v));
    inverse_butterfly(u, v, Factors::splat(roots.at(index)), field)
}
