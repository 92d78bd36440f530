//! Four lanes of AVX2 with integers in doubles, and residues in them.
//!
//! AVX2 has no wide products of integers. But a double holds every integer up to 2⁵³, and a fused
//! multiplication and addition gives the error of a product. So v·w = h + l with h = v·w rounded
//! and l exact, and with c near v·w/q the difference h − c·q is exact, too: it is an integer below
//! 2⁵³. Then v·w − c·q = (h − c·q) + l. Here q is below 2⁵⁰, and signed values below 4q are below
//! 2⁵².

use std::arch::x86_64::*;

use crate::wide::modulus::Real;

/// The words of one register.
pub(super) type Words = [u64; 4];

/// 2⁵²: the word of a double from 2⁵² to 2⁵³ is the word of 2⁵² plus the integer above 2⁵².
const WORD_BASE: f64 = (1u64 << 52) as f64;

/// 1.5·2⁵²: a sum with a number up to 2⁵¹ rounds it to an integer.
const ROUNDING: f64 = (3u64 << 51) as f64;

/// Proves that the CPU has AVX2 and FMA.
#[derive(Clone, Copy)]
pub(super) struct Lanes(());

impl Lanes {
    /// The proof, available only in functions that are compiled for these CPUs.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi2")]
    pub(super) fn new() -> Self {
        Self(())
    }

    registerwise! {
        pub(super) __m256d:
        fn add(a, b) = _mm256_add_pd(a, b);
        fn sub(a, b) = _mm256_sub_pd(a, b);
        fn mul(a, b) = _mm256_mul_pd(a, b);
        // a·b + c, a·b − c and c − a·b, rounded once.
        fn mul_add(a, b, c) = _mm256_fmadd_pd(a, b, c);
        fn mul_sub(a, b, c) = _mm256_fmsub_pd(a, b, c);
        fn sub_mul(c, a, b) = _mm256_fnmadd_pd(a, b, c);
        fn or(a, b) = _mm256_or_pd(a, b);
        fn xor(a, b) = _mm256_xor_pd(a, b);
        fn and(a, b) = _mm256_and_pd(a, b);
        fn less(a, b) = _mm256_cmp_pd::<_CMP_LT_OQ>(a, b);
        // The lower halves of both, the upper halves of both.
        fn lower_halves(a, b) = _mm256_permute2f128_pd::<0x20>(a, b);
        fn upper_halves(a, b) = _mm256_permute2f128_pd::<0x31>(a, b);
        // In each half: the lower words of both, the upper words of both.
        fn lower_words(a, b) = _mm256_unpacklo_pd(a, b);
        fn upper_words(a, b) = _mm256_unpackhi_pd(a, b);
    }

    #[inline(always)]
    pub(super) fn splat(self, value: f64) -> __m256d {
        // SAFETY: `self` proves AVX.
        unsafe { _mm256_set1_pd(value) }
    }

    /// Loads doubles, or words as they are.
    #[inline(always)]
    pub(super) fn load<T: bytemuck::Pod>(self, cells: &[T; 4]) -> __m256d {
        const { assert!(size_of::<T>() == 8) };
        // SAFETY: `self` proves AVX; 32 bytes are read, at any alignment.
        unsafe { _mm256_loadu_pd(cells.as_ptr().cast()) }
    }

    /// The four words from `at` on, as they are; panics if they are not all there.
    #[inline(always)]
    pub(super) fn load_at(self, words: &[u64], at: usize) -> __m256d {
        let words = &words[at..at + 4];
        // SAFETY: `self` proves AVX; the 32 bytes of `words` are read, at any alignment.
        unsafe { _mm256_loadu_pd(words.as_ptr().cast()) }
    }

    /// Two doubles, twice each.
    #[inline(always)]
    pub(super) fn twice_each(self, [a, b]: &[f64; 2]) -> __m256d {
        // SAFETY: `self` proves AVX.
        unsafe { _mm256_setr_m128d(_mm_set1_pd(*a), _mm_set1_pd(*b)) }
    }

    #[inline(always)]
    pub(super) fn store(self, words: &mut Words, value: __m256d) {
        // SAFETY: `self` proves AVX; 32 bytes are written, at any alignment.
        unsafe { _mm256_storeu_pd(words.as_mut_ptr().cast(), value) }
    }
}

/// One factor per lane; see [`Real`].
#[derive(Clone, Copy)]
pub(super) struct Factors {
    pub(super) value: __m256d,
    pub(super) ratio: __m256d,
}

/// The modulus q and constants, in all lanes.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) lanes: Lanes,
    pub(super) q: __m256d,
    /// 1/q.
    inverse: __m256d,
    rounding: __m256d,
    word_base: __m256d,
    /// 2⁵² + 2q.
    centre: __m256d,
}

impl Field {
    #[inline(always)]
    pub(super) fn new(lanes: Lanes, q: u64) -> Self {
        Self {
            lanes,
            q: lanes.splat(q as f64),
            inverse: lanes.splat(1.0 / q as f64),
            rounding: lanes.splat(ROUNDING),
            word_base: lanes.splat(WORD_BASE),
            centre: lanes.splat(((1 << 52) + 2 * q) as f64),
        }
    }

    /// One factor in all lanes.
    #[inline(always)]
    pub(super) fn one_factor(self, factor: Real) -> Factors {
        Factors {
            value: self.lanes.splat(factor.value),
            ratio: self.lanes.splat(factor.ratio),
        }
    }

    /// Words below 2⁵² as doubles.
    #[inline(always)]
    pub(super) fn to_doubles(self, words: __m256d) -> __m256d {
        self.lanes
            .sub(self.lanes.or(words, self.word_base), self.word_base)
    }

    /// Words below 4q, less 2q, as doubles.
    #[inline(always)]
    pub(super) fn to_centred_doubles(self, words: __m256d) -> __m256d {
        self.lanes
            .sub(self.lanes.or(words, self.word_base), self.centre)
    }

    /// Integers in [0, 2⁵²) as words.
    #[inline(always)]
    fn to_words(self, x: __m256d) -> __m256d {
        self.lanes
            .xor(self.lanes.add(x, self.word_base), self.word_base)
    }

    /// From (−q, q) to words in [0, q).
    #[inline(always)]
    pub(super) fn to_residues(self, x: __m256d) -> __m256d {
        let lanes = self.lanes;
        let negative = lanes.less(x, lanes.splat(0.0));
        self.to_words(lanes.add(x, lanes.and(negative, self.q)))
    }

    /// From [−q, 3q) to words in [0, 4q).
    #[inline(always)]
    pub(super) fn to_lazy_words(self, x: __m256d) -> __m256d {
        self.to_words(self.lanes.add(x, self.q))
    }

    /// x modulo q, at most 0.51q, for x below 8q. (All bounds are for the absolute value.)
    ///
    /// The quotient is exact but for the error of 1/q, at most 2⁻⁵⁰ here.
    #[inline(always)]
    pub(super) fn settle(self, x: __m256d) -> __m256d {
        let lanes = self.lanes;
        let quotient = lanes.sub(lanes.mul_add(x, self.inverse, self.rounding), self.rounding);
        lanes.sub_mul(x, quotient, self.q)
    }

    /// v·w modulo q, at most (1/2 + v·2⁻⁵⁵)q, for v below 4q. Negated with `NEGATE`.
    ///
    /// The integer next to v·`ratio` is exact: the product is below 2⁵¹ and rounded once, with the
    /// sum. Its distance from v·w/q is at most 1/2 and the error of the ratio.
    #[inline(always)]
    pub(super) fn mul<const NEGATE: bool>(self, v: __m256d, w: Factors) -> __m256d {
        let lanes = self.lanes;
        let quotient = lanes.sub(lanes.mul_add(v, w.ratio, self.rounding), self.rounding);
        let high = lanes.mul(v, w.value);
        if NEGATE {
            lanes.add(
                lanes.mul_sub(quotient, self.q, high),
                lanes.sub_mul(high, v, w.value),
            )
        } else {
            lanes.add(
                lanes.sub_mul(high, quotient, self.q),
                lanes.mul_sub(v, w.value, high),
            )
        }
    }

    /// a·b modulo q, at most 1.01q, for a up to 2q and b below q.
    ///
    /// a·b/q is below 2⁵¹ and has two relative errors of 2⁻⁵³, of a·b and 1/q, and is rounded once.
    #[inline(always)]
    pub(super) fn product(self, a: __m256d, b: __m256d) -> __m256d {
        let lanes = self.lanes;
        let high = lanes.mul(a, b);
        let quotient = lanes.sub(
            lanes.mul_add(high, self.inverse, self.rounding),
            self.rounding,
        );
        lanes.add(
            lanes.sub_mul(high, quotient, self.q),
            lanes.mul_sub(a, b, high),
        )
    }
}
