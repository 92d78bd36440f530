//! Sixteen words at a time: loads, stores and products by known factors.

use core::arch::x86_64::*;

use crate::ntt::Factor;

/// The words of one register.
pub(crate) type Words = [u32; 16];

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn load(words: &Words) -> __m512i {
    // SAFETY: the reference covers the 64 bytes that are read; no alignment is asked for.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn store(words: &mut Words, value: __m512i) {
    // SAFETY: the reference covers the 64 bytes that are written; no alignment is asked for.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), value) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn splat(word: u32) -> __m512i {
    _mm512_set1_epi32(word as i32)
}

/// Factors with their Shoup quotients, a factor for each lane.
#[derive(Clone, Copy)]
pub(crate) struct Factors {
    value: __m512i,
    /// The quotients; the even lanes are read.
    even: __m512i,
    /// The quotients, odd lanes moved to even ones.
    odd: __m512i,
}

impl Factors {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn new(value: __m512i, quotient: __m512i) -> Self {
        Self { value, even: quotient, odd: _mm512_srli_epi64::<32>(quotient) }
    }

    /// Factors that are the same in lanes 2k and 2k + 1.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn twin(value: __m512i, quotient: __m512i) -> Self {
        Self { value, even: quotient, odd: quotient }
    }

    /// One factor in all lanes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn splat(factor: Factor) -> Self {
        let quotient = splat(factor.quotient);
        Self { value: splat(factor.value), even: quotient, odd: quotient }
    }
}

/// q and 2q in all lanes.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    q: __m512i,
    twice: __m512i,
}

impl Field {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn new(q: u32) -> Self {
        Self { q: splat(q), twice: splat(2 * q) }
    }

    /// v·w modulo q, in [0, 2q), for any v.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn mul_lazy(self, v: __m512i, w: Factors) -> __m512i {
        let even = _mm512_mul_epu32(v, w.even);
        let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(v), w.odd);
        let quotient = _mm512_mask_shuffle_epi32::<0b11_11_01_01>(odd, 0x5555, even);
        let product = _mm512_mullo_epi32(v, w.value);
        _mm512_sub_epi32(product, _mm512_mullo_epi32(quotient, self.q))
    }

    /// x below q for x below 2q.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn subtract_q(self, x: __m512i) -> __m512i {
        _mm512_min_epu32(x, _mm512_sub_epi32(x, self.q))
    }

    /// x below 2q for x below 4q.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn subtract_2q(self, x: __m512i) -> __m512i {
        _mm512_min_epu32(x, _mm512_sub_epi32(x, self.twice))
    }

    /// u + 2q − v, positive for v below 2q.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn difference(self, u: __m512i, v: __m512i) -> __m512i {
        _mm512_sub_epi32(_mm512_add_epi32(u, self.twice), v)
    }
}
