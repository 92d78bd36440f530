//! Eight lanes of AVX2.

use std::arch::x86_64::*;

use bytemuck::Pod;

use crate::portable::lanes::{ByteLanes, Lanes};
use crate::x86_64::lanes::WideLanes;

/// Eight lanes. A value proves that the CPU has AVX2.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    /// The proof, available only in functions that are compiled for these CPUs.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi2")]
    pub(super) fn new() -> Self {
        Self(())
    }
}

impl Lanes<8> for Avx2 {
    type Vector = __m256i;

    #[inline(always)]
    fn load<T: Pod>(self, cells: &[T; 8]) -> __m256i {
        const { assert!(size_of::<T>() == 4) };
        // SAFETY: `self` proves AVX2; 32 bytes of `cells` are read, at any alignment.
        unsafe { _mm256_loadu_si256(cells.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store<T: Pod>(self, cells: &mut [T; 8], value: __m256i) {
        const { assert!(size_of::<T>() == 4) };
        // SAFETY: `self` proves AVX2; 32 bytes of `cells` are written, at any alignment.
        unsafe { _mm256_storeu_si256(cells.as_mut_ptr().cast(), value) }
    }

    #[inline(always)]
    fn splat<T: Pod>(self, cell: T) -> __m256i {
        // SAFETY: `self` proves AVX2.
        unsafe { _mm256_set1_epi32(bytemuck::cast(cell)) }
    }

    lanewise! {
        fn add_products(sum, a, b) = _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
    }
}

impl ByteLanes<8> for Avx2 {
    #[inline(always)]
    fn split_bytes(self, cells: __m256i) -> [__m256i; 2] {
        // SAFETY: `self` proves AVX2.
        unsafe {
            [
                _mm256_and_si256(cells, _mm256_set1_epi16(0xff)),
                _mm256_srli_epi16::<8>(cells),
            ]
        }
    }
}

impl WideLanes<8> for Avx2 {
    #[inline(always)]
    fn load_low<const R: usize>(self, words: &[u32; R]) -> __m256i {
        const { assert!(R == 2 || R == 4 || R == 8) };
        let place = words.as_ptr();
        // SAFETY: `self` proves AVX2; `R` words are read, at any alignment.
        unsafe {
            match R {
                2 => _mm256_set1_epi64x(place.cast::<i64>().read_unaligned()),
                4 => _mm256_castsi128_si256(_mm_loadu_si128(place.cast())),
                _ => _mm256_loadu_si256(place.cast()),
            }
        }
    }

    lanewise! {
        fn add(a, b) = _mm256_add_epi32(a, b);
        fn sub(a, b) = _mm256_sub_epi32(a, b);
        fn min(a, b) = _mm256_min_epu32(a, b);
        fn mul_low(a, b) = _mm256_mullo_epi32(a, b);
        fn mul_even(a, b) = _mm256_mul_epu32(a, b);
        fn mul_even_signed(a, b) = _mm256_mul_epi32(a, b);
        fn add_64(a, b) = _mm256_add_epi64(a, b);
        fn odd_lanes(a) = _mm256_srli_epi64::<32>(a);
        fn high_halves(even, odd) = _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64::<32>(even), odd);
        fn permute(a, indices) = _mm256_permutevar8x32_epi32(a, indices);
    }

    #[inline(always)]
    fn in_one_run(self, words: __m256i, first: u32) -> bool {
        // SAFETY: `self` proves AVX2.
        unsafe {
            // Words of one aligned run of eight differ in their lowest three bits only.
            let differences = _mm256_xor_si256(words, _mm256_set1_epi32(first as i32));
            _mm256_testz_si256(differences, _mm256_set1_epi32(!7)) == 1
        }
    }
}
