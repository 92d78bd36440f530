//! Negacyclic transforms on sixteen words at a time.
//!
//! Stages whose halves are 32 words or longer run two at a time over the whole
//! array; the last five (the first five of the inverse) run in two registers.

use core::arch::x86_64::*;

use super::lanes::{Factors, Field, Words, load, splat, store};
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
    let (pairs, _) = vectors.as_chunks_mut::<2>();
    for (i, pair) in pairs.iter_mut().enumerate() {
        forward_pair::<REDUCE>(pair, &table.roots, table.d / 32 + i, field);
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
    let inner = [2 * index, 2 * index + 1].map(|k| roots.at(k));
    let (left, right) = (Factors::splat(inner[0]), Factors::splat(inner[1]));
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

/// The last five stages, on words 0..16 and 16..32 of a block; `index` is the root of the first.
///
/// The comments say which words the four quarters of u hold; those of v are the
/// partners in the butterfly.
#[inline]
#[target_feature(enable = "avx512f")]
fn forward_pair<const REDUCE: bool>(
    pair: &mut [Words; 2],
    roots: &Roots,
    index: usize,
    field: Field,
) {
    let w = Factors::splat(roots.at(index));
    let (a, b) = forward_butterfly(load(&pair[0]), load(&pair[1]), w, field);
    // u = 0-3, 4-7, 16-19, 20-23
    let (u, v) = (
        _mm512_shuffle_i32x4::<0x44>(a, b),
        _mm512_shuffle_i32x4::<0xEE>(a, b),
    );
    let (u, v) = forward_butterfly(u, v, spread2(roots, 2 * index, &HALVES), field);
    // u = 0-3, 16-19, 8-11, 24-27
    let (u, v) = (
        _mm512_shuffle_i32x4::<0x88>(u, v),
        _mm512_shuffle_i32x4::<0xDD>(u, v),
    );
    let (u, v) = forward_butterfly(u, v, spread4(roots, 4 * index), field);
    // u = 0 1 4 5, 16 17 20 21, 8 9 12 13, 24 25 28 29
    let (u, v) = (
        _mm512_unpacklo_epi64(u, v),
        _mm512_unpackhi_epi64(u, v),
    );
    let (u, v) = forward_butterfly(u, v, spread8(roots, 8 * index), field);
    // u = 0 4 2 6, 16 20 18 22, 8 12 10 14, 24 28 26 30
    let (u, v) = (pick::<0x88>(u, v), pick::<0xDD>(u, v));
    let (u, v) = forward_butterfly(u, v, spread16(roots, 16 * index), field);
    let a = _mm512_permutex2var_epi32(u, load(&NATURAL[0]), v);
    let b = _mm512_permutex2var_epi32(u, load(&NATURAL[1]), v);
    store(&mut pair[0], finish::<REDUCE>(a, field));
    store(&mut pair[1], finish::<REDUCE>(b, field));
}

/// From [0, 4q) to [0, q), where asked for.
#[inline]
#[target_feature(enable = "avx512f")]
fn finish<const REDUCE: bool>(x: __m512i, field: Field) -> __m512i {
    if REDUCE {
        field.subtract_q(field.subtract_2q(x))
    } else {
        x
    }
}

/// Two words of each quarter of u, then two of v, as the four pairs of bits say.
#[inline]
#[target_feature(enable = "avx512f")]
fn pick<const WHICH: i32>(u: __m512i, v: __m512i) -> __m512i {
    let (u, v) = (_mm512_castsi512_ps(u), _mm512_castsi512_ps(v));
    _mm512_castps_si512(_mm512_shuffle_ps::<WHICH>(u, v))
}

/// The even words of 0..32 in the order in which the last stage holds them.
const EVENS: Words = [
    0, 4, 2, 6, 16, 20, 18, 22, 8, 12, 10, 14, 24, 28, 26, 30,
];

/// From evens and odds in that order to words 0..16 and 16..32.
const NATURAL: [Words; 2] = {
    let mut natural = [[0; 16]; 2];
    let mut place = 0;
    while place < 16 {
        let word = EVENS[place] as usize;
        natural[word / 16][word % 16] = place as u32;
        natural[word / 16][word % 16 + 1] = place as u32 + 16;
        place += 1;
    }
    natural
};

/// The odd partners of [`EVENS`].
const ODDS: Words = {
    let mut odds = EVENS;
    let mut place = 0;
    while place < 16 {
        odds[place] += 1;
        place += 1;
    }
    odds
};

/// Roots 0 and 1 for u = 0-7, 16-23.
const HALVES: Words = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// Roots 0 and 1 for u = 0-3, 16-19, 4-7, 20-23.
const QUARTERS: Words = [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1];

/// Two roots from `index`, spread as `order` says.
#[inline]
#[target_feature(enable = "avx512f")]
fn spread2(roots: &Roots, index: usize, order: &Words) -> Factors {
    let order = load(order);
    let both = |words: &[u32]| {
        let pair = u64::from(words[index]) | u64::from(words[index + 1]) << 32;
        _mm512_permutexvar_epi32(order, _mm512_set1_epi64(pair as i64))
    };
    Factors::new(both(&roots.values), both(&roots.quotients))
}

/// Four roots from `index` for u = 0-3, 16-19, 8-11, 24-27.
#[inline]
#[target_feature(enable = "avx512f")]
fn spread4(roots: &Roots, index: usize) -> Factors {
    const ORDER: Words = [0, 0, 0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 3, 3, 3, 3];
    let order = load(&ORDER);
    let four = |words: &[u32]| {
        let words = words[index..].first_chunk::<4>().copied().unwrap_or_default();
        // SAFETY: the array covers the 16 bytes that are read; no alignment is asked for.
        let words = unsafe { _mm_loadu_si128(words.as_ptr().cast()) };
        _mm512_permutexvar_epi32(order, _mm512_castsi128_si512(words))
    };
    Factors::new(four(&roots.values), four(&roots.quotients))
}

/// Eight roots from `index` for u = 0 1 4 5, 16 17 20 21, 8 9 12 13, 24 25 28 29.
#[inline]
#[target_feature(enable = "avx512f")]
fn spread8(roots: &Roots, index: usize) -> Factors {
    const ORDER: Words = [0, 0, 1, 1, 4, 4, 5, 5, 2, 2, 3, 3, 6, 6, 7, 7];
    let order = load(&ORDER);
    let eight = |words: &[u32]| {
        let words = words[index..].first_chunk::<8>().copied().unwrap_or_default();
        // SAFETY: the array covers the 32 bytes that are read; no alignment is asked for.
        let words = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
        _mm512_permutexvar_epi32(order, _mm512_castsi256_si512(words))
    };
    Factors::new(eight(&roots.values), eight(&roots.quotients))
}

/// Sixteen roots from `index` in the order of [`EVENS`].
#[inline]
#[target_feature(enable = "avx512f")]
fn spread16(roots: &Roots, index: usize) -> Factors {
    const ORDER: Words = [0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15];
    let order = load(&ORDER);
    let sixteen = |words: &[u32]| {
        let words = words[index..].first_chunk::<16>().copied().unwrap_or_default();
        _mm512_permutexvar_epi32(order, load(&words))
    };
    Factors::new(sixteen(&roots.values), sixteen(&roots.quotients))
}

#[target_feature(enable = "avx512f")]
pub(crate) fn inverse(table: &NttTable, x: &mut [u32]) {
    if table.d < LEAST_DEGREE {
        return portable::ntt::inverse(table, x);
    }
    let field = Field::new(table.q);
    let vectors = x.as_chunks_mut::<16>().0;
    let (pairs, _) = vectors.as_chunks_mut::<2>();
    for (i, pair) in pairs.iter_mut().enumerate() {
        inverse_pair(pair, &table.inverse_roots, table.d / 32 + i, field);
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
    let inner = [2 * index, 2 * index + 1].map(|k| roots.at(k));
    let (left, right) = (Factors::splat(inner[0]), Factors::splat(inner[1]));
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

/// The first five stages, on words 0..16 and 16..32 of a block; `index` is the root of the fifth.
#[inline]
#[target_feature(enable = "avx512f")]
fn inverse_pair(pair: &mut [Words; 2], roots: &Roots, index: usize, field: Field) {
    let (a, b) = (load(&pair[0]), load(&pair[1]));
    let u = _mm512_permutex2var_epi32(a, load(&EVENS), b);
    let v = _mm512_permutex2var_epi32(a, load(&ODDS), b);
    let (u, v) = inverse_butterfly(u, v, spread16(roots, 16 * index), field);
    // u = 0 1 4 5, 16 17 20 21, 8 9 12 13, 24 25 28 29
    let (u, v) = (
        _mm512_unpacklo_epi32(u, v),
        _mm512_unpackhi_epi32(u, v),
    );
    let (u, v) = inverse_butterfly(u, v, spread8(roots, 8 * index), field);
    // u = 0-3, 16-19, 8-11, 24-27
    let (u, v) = (
        _mm512_unpacklo_epi64(u, v),
        _mm512_unpackhi_epi64(u, v),
    );
    let (u, v) = inverse_butterfly(u, v, spread4(roots, 4 * index), field);
    // u = 0-3, 16-19, 4-7, 20-23
    let (u, v) = (
        _mm512_shuffle_i32x4::<0x44>(u, v),
        _mm512_shuffle_i32x4::<0xEE>(u, v),
    );
    let (u, v) = inverse_butterfly(u, v, spread2(roots, 2 * index, &QUARTERS), field);
    let (a, b) = (
        _mm512_shuffle_i32x4::<0x88>(u, v),
        _mm512_shuffle_i32x4::<0xDD>(u, v),
    );
    let w = Factors::splat(roots.at(index));
    let (a, b) = inverse_butterfly(a, b, w, field);
    store(&mut pair[0], a);
    store(&mut pair[1], b);
}
