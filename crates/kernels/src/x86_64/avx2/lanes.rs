//! Eight words at a time: loads, stores and products by known factors.

use core::arch::x86_64::*;

use crate::ntt::Factor;

/// The words of one register.
pub(crate) type Words = [u32; 8];

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn load(words: &Words) -> __m256i {
    // SAFETY: the reference covers the 32 bytes that are read; no alignment is asked for.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn store(words: &mut Words, value: __m256i) {
    // SAFETY: the reference covers the 32 bytes that are written; no alignment is asked for.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), value) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn splat(word: u32) -> __m256i {
    _mm256_set1_epi32(word as i32)
}

/// Factors with their Shoup quotients, a factor for each lane.
#[derive(Clone, Copy)]
pub(crate) struct Factors {
    value: __m256i,
    /// The quotients; the even lanes are read.
    even: __m256i,
    /// The quotients, odd lanes moved to even ones.
    odd: __m256i,
}

impl Factors {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn new(value: __m256i, quotient: __m256i) -> Self {
        Self { value, even: quotient, odd: _mm256_srli_epi64::<32>(quotient) }
    }

    /// Factors that are the same in lanes 2k and 2k + 1.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn twin(value: __m256i, quotient: __m256i) -> Self {
        Self { value, even: quotient, odd: quotient }
    }

    /// One factor in all lanes.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn splat(factor: Factor) -> Self {
        let quotient = splat(factor.quotient);
        Self { value: splat(factor.value), even: quotient, odd: quotient }
    }
}

/// q and 2q in all lanes.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    q: __m256i,
    twice: __m256i,
}

impl Field {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn new(q: u32) -> Self {
        Self { q: splat(q), twice: splat(2 * q) }
    }

    /// v·w modulo q, in [0, 2q), for any v.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn mul_lazy(self, v: __m256i, w: Factors) -> __m256i {
        let even = _mm256_mul_epu32(v, w.even);
        let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(v), w.odd);
        let even = _mm256_srli_epi64::<32>(even);
        let quotient = _mm256_blend_epi32::<0b1010_1010>(even, odd);
        let product = _mm256_mullo_epi32(v, w.value);
        _mm256_sub_epi32(product, _mm256_mullo_epi32(quotient, self.q))
    }

    /// x below q for x below 2q.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn subtract_q(self, x: __m256i) -> __m256i {
        _mm256_min_epu32(x, _mm256_sub_epi32(x, self.q))
    }

    /// x below 2q for x below 4q.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn subtract_2q(self, x: __m256i) -> __m256i {
        _mm256_min_epu32(x, _mm256_sub_epi32(x, self.twice))
    }

    /// u + 2q − v, positive for v below 2q.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn difference(self, u: __m256i, v: __m256i) -> __m256i {
        _mm256_sub_epi32(_mm256_add_epi32(u, self.twice), v)
    }
}
