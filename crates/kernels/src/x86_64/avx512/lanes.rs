//! Sixteen lanes of AVX-512.

use std::arch::x86_64::*;

use bytemuck::Pod;

use crate::portable::lanes::Lanes;
use crate::x86_64::lanes::WideLanes;

/// Sixteen lanes. A value proves that the CPU has AVX-512 F, BW, DQ, VL and VNNI.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

impl Avx512 {
    /// The proof, available only in functions that are compiled for these CPUs.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) fn new() -> Self {
        Self(())
    }
}

impl Lanes<16> for Avx512 {
    type Vector = __m512i;

    #[inline(always)]
    fn load<T: Pod>(self, cells: &[T; 16]) -> __m512i {
        const { assert!(size_of::<T>() == 4) };
        // SAFETY: `self` proves AVX-512; 64 bytes of `cells` are read, at any alignment.
        unsafe { _mm512_loadu_si512(cells.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store<T: Pod>(self, cells: &mut [T; 16], value: __m512i) {
        const { assert!(size_of::<T>() == 4) };
        // SAFETY: `self` proves AVX-512; 64 bytes of `cells` are written, at any alignment.
        unsafe { _mm512_storeu_si512(cells.as_mut_ptr().cast(), value) }
    }

    #[inline(always)]
    fn splat<T: Pod>(self, cell: T) -> __m512i {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_set1_epi32(bytemuck::cast(cell)) }
    }

    lanewise! {
        fn add_products(sum, a, b) = _mm512_dpwssd_epi32(sum, a, b);
    }
}

impl WideLanes<16> for Avx512 {
    #[inline(always)]
    fn load_low<const R: usize>(self, words: &[u32; R]) -> __m512i {
        const { assert!(R == 2 || R == 4 || R == 8) };
        let place = words.as_ptr();
        // SAFETY: `self` proves AVX-512; `R` words are read, at any alignment.
        unsafe {
            match R {
                2 => _mm512_set1_epi64(place.cast::<i64>().read_unaligned()),
                4 => _mm512_castsi128_si512(_mm_loadu_si128(place.cast())),
                _ => _mm512_castsi256_si512(_mm256_loadu_si256(place.cast())),
            }
        }
    }

    lanewise! {
        fn add(a, b) = _mm512_add_epi32(a, b);
        fn sub(a, b) = _mm512_sub_epi32(a, b);
        fn min(a, b) = _mm512_min_epu32(a, b);
        fn mul_low(a, b) = _mm512_mullo_epi32(a, b);
        fn mul_even(a, b) = _mm512_mul_epu32(a, b);
        fn mul_even_signed(a, b) = _mm512_mul_epi32(a, b);
        fn add_64(a, b) = _mm512_add_epi64(a, b);
        fn odd_lanes(a) = _mm512_srli_epi64::<32>(a);
        fn high_halves(even, odd) = _mm512_mask_shuffle_epi32::<0b11_11_01_01>(odd, 0x5555, even);
        fn permute(a, indices) = _mm512_permutexvar_epi32(indices, a);
    }

    #[inline(always)]
    fn in_one_run(self, words: __m512i, first: u32) -> bool {
        // SAFETY: `self` proves AVX-512.
        unsafe {
            // Words of one aligned run of sixteen differ in their lowest four bits only.
            let differences = _mm512_xor_si512(words, _mm512_set1_epi32(first as i32));
            _mm512_cmplt_epu32_mask(differences, _mm512_set1_epi32(16)) == u16::MAX
        }
    }
}
