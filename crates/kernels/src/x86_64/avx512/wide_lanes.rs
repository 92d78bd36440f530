//! Eight lanes of AVX-512 with digits of 52 bits, and residues in them.

use std::arch::x86_64::*;

use crate::wide::modulus::Factor;

/// The words of one register.
pub(super) type Words = [u64; 8];

/// Proves that the CPU has AVX-512 F, DQ and IFMA.
#[derive(Clone, Copy)]
pub(super) struct Lanes(());

impl Lanes {
    /// The proof, available only in functions that are compiled for these CPUs.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
    pub(super) fn new() -> Self {
        Self(())
    }

    registerwise! {
        pub(super) __m512i:
        fn add(a, b) = _mm512_add_epi64(a, b);
        fn sub(a, b) = _mm512_sub_epi64(a, b);
        fn and(a, b) = _mm512_and_si512(a, b);
        fn min(a, b) = _mm512_min_epu64(a, b);
        // Products of the lowest 52 bits of a and b: their low or high 52 bits are added.
        fn add_low(sum, a, b) = _mm512_madd52lo_epu64(sum, a, b);
        fn add_high(sum, a, b) = _mm512_madd52hi_epu64(sum, a, b);
        fn upper_digit(a) = _mm512_srli_epi64::<52>(a);
        fn without_12_bits(a) = _mm512_srli_epi64::<12>(a);
        fn pick(a, places, b) = _mm512_permutex2var_epi64(a, places, b);
    }

    #[inline(always)]
    pub(super) fn splat(self, word: u64) -> __m512i {
        // SAFETY: `self` proves AVX-512 F.
        unsafe { _mm512_set1_epi64(word as i64) }
    }

    #[inline(always)]
    pub(super) fn load(self, words: &Words) -> __m512i {
        // SAFETY: `self` proves AVX-512 F; 64 bytes are read, at any alignment.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    /// The eight words from `at` on; panics if they are not all there.
    #[inline(always)]
    pub(super) fn load_at(self, words: &[u64], at: usize) -> __m512i {
        let words = &words[at..at + 8];
        // SAFETY: `self` proves AVX-512 F; the 64 bytes of `words` are read, at any alignment.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    #[inline(always)]
    pub(super) fn store(self, words: &mut Words, value: __m512i) {
        // SAFETY: `self` proves AVX-512 F; 64 bytes are written, at any alignment.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), value) }
    }

    /// 2, 4 or 8 words, repeated to fill the register.
    #[inline(always)]
    pub(super) fn repeat<const R: usize>(self, words: &[u64; R]) -> __m512i {
        const { assert!(R == 2 || R == 4 || R == 8) };
        let place = words.as_ptr();
        // SAFETY: `self` proves AVX-512 F and DQ; `R` words are read, at any alignment.
        unsafe {
            match R {
                2 => _mm512_broadcast_i64x2(_mm_loadu_si128(place.cast())),
                4 => _mm512_broadcast_i64x4(_mm256_loadu_si256(place.cast())),
                _ => _mm512_loadu_si512(place.cast()),
            }
        }
    }
}

/// One Montgomery factor per lane; see [`Factor`].
#[derive(Clone, Copy)]
pub(super) struct Factors {
    pub(super) value: __m512i,
    pub(super) quotient: __m512i,
}

/// q in all lanes, and some of its multiples.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) lanes: Lanes,
    pub(super) q: __m512i,
    pub(super) twice: __m512i,
    pub(super) minus: __m512i,
}

impl Field {
    #[inline(always)]
    pub(super) fn new(lanes: Lanes, q: u64) -> Self {
        Self {
            lanes,
            q: lanes.splat(q),
            twice: lanes.splat(2 * q),
            minus: lanes.splat(q.wrapping_neg()),
        }
    }

    /// One factor in all lanes.
    #[inline(always)]
    pub(super) fn one_factor(self, factor: Factor) -> Factors {
        Factors {
            value: self.lanes.splat(factor.value),
            quotient: self.lanes.splat(factor.quotient),
        }
    }

    /// The two terms of the product v·w = h − t, with `start` added to t; see
    /// [`Factor::mul_signed`]. Only the lowest 52 bits of v are read.
    #[inline(always)]
    fn terms(self, v: __m512i, w: Factors, start: __m512i) -> (__m512i, __m512i) {
        let lanes = self.lanes;
        let zero = lanes.splat(0);
        let m = lanes.add_low(zero, v, w.quotient);
        (
            lanes.add_high(zero, v, w.value),
            lanes.add_high(start, m, self.q),
        )
    }

    /// v·w modulo q, in (0, 2q), for v below 2⁵².
    #[inline(always)]
    pub(super) fn mul_lazy(self, v: __m512i, w: Factors) -> __m512i {
        let (h, t) = self.terms(v, w, self.minus);
        self.lanes.sub(h, t)
    }

    /// −v·w modulo q, in (0, 2q), for v below 2⁵².
    #[inline(always)]
    pub(super) fn mul_negated(self, v: __m512i, w: Factors) -> __m512i {
        let (h, t) = self.terms(v, w, self.q);
        self.lanes.sub(t, h)
    }

    /// v·w modulo q, in [0, q), for v below 2⁵².
    #[inline(always)]
    pub(super) fn mul(self, v: __m512i, w: Factors) -> __m512i {
        let (h, t) = self.terms(v, w, self.lanes.splat(0));
        let product = self.lanes.sub(h, t);
        self.lanes.min(product, self.lanes.add(product, self.q))
    }

    /// From [0, 4q) to [0, 2q): if x is below 2q, the difference wraps and is the larger word.
    #[inline(always)]
    pub(super) fn subtract_2q(self, x: __m512i) -> __m512i {
        self.lanes.min(x, self.lanes.sub(x, self.twice))
    }

    /// From (−2q, 2q) to [0, 2q): a negative x is the larger word.
    #[inline(always)]
    pub(super) fn add_2q(self, x: __m512i) -> __m512i {
        self.lanes.min(x, self.lanes.add(x, self.twice))
    }

    /// From [0, 4q) to [0, q).
    #[inline(always)]
    pub(super) fn reduce(self, x: __m512i) -> __m512i {
        let x = self.subtract_2q(x);
        self.lanes.min(x, self.lanes.sub(x, self.q))
    }
}
