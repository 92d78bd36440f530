//! Sums of products without anything else: see [`crate::peak`].

use std::arch::x86_64::*;

use super::lanes::Avx512;
use crate::portable::peak::products_on;

/// Registers of words at a time.
const SLAB: usize = 4;
/// Independent sums of wide products.
const SUMS: usize = 16;

/// Products of pairs of 16-bit words and four planes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512ifma")]
pub(crate) fn products(words: &[i32]) -> i64 {
    products_on::<_, _, SLAB>(Avx512::new(), words)
}

/// One product with a 52-bit value for each word. Words are widened outside of the loop, as for
/// many vectors.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512ifma")]
pub(crate) fn wide_products(words: &[i32]) -> i64 {
    let (registers, _) = words.as_chunks::<8>();
    let (steps, _) = registers.as_chunks::<SUMS>();
    let mut sums = [_mm512_setzero_si512(); SUMS];
    let wide = _mm512_set1_epi64(i64::from(words.first().copied().unwrap_or_default()));
    for step in steps {
        let value = _mm512_set1_epi64(i64::from(step[0][0]));
        for sum in &mut sums {
            *sum = _mm512_madd52lo_epu64(*sum, wide, value);
        }
    }
    // Every sum must count, or the compiler would leave its products out.
    let total = sums.into_iter().fold(_mm512_setzero_si512(), |all, sum| {
        _mm512_xor_si512(all, sum)
    });
    _mm512_reduce_add_epi64(total)
}
