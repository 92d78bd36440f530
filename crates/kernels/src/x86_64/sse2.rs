//! Four lanes of SSE2, which every x86-64 CPU has.

use std::arch::x86_64::*;

use bytemuck::Pod;

use crate::portable::lanes::{ByteLanes, FourLanes, Lanes};

/// Four lanes. It needs no proof, as SSE2 is part of x86-64.
#[derive(Clone, Copy)]
pub(crate) struct Sse2;

impl Lanes<4> for Sse2 {
    type Vector = __m128i;

    #[inline(always)]
    fn load<T: Pod>(self, cells: &[T; 4]) -> __m128i {
        const { assert!(size_of::<T>() == 4) };
        // SAFETY: every x86-64 has SSE2; 16 bytes of `cells` are read, at any alignment.
        unsafe { _mm_loadu_si128(cells.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store<T: Pod>(self, cells: &mut [T; 4], value: __m128i) {
        const { assert!(size_of::<T>() == 4) };
        // SAFETY: every x86-64 has SSE2; 16 bytes of `cells` are written, at any alignment.
        unsafe { _mm_storeu_si128(cells.as_mut_ptr().cast(), value) }
    }

    #[inline(always)]
    fn splat<T: Pod>(self, cell: T) -> __m128i {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_set1_epi32(bytemuck::cast(cell)) }
    }

    lanewise! {
        fn add_products(sum, a, b) = _mm_add_epi32(sum, _mm_madd_epi16(a, b));
    }
}

impl ByteLanes<4> for Sse2 {
    #[inline(always)]
    fn split_bytes(self, cells: __m128i) -> [__m128i; 2] {
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            [
                _mm_and_si128(cells, _mm_set1_epi16(0xff)),
                _mm_srli_epi16::<8>(cells),
            ]
        }
    }
}

impl FourLanes for Sse2 {
    #[inline(always)]
    fn zip(self, a: __m128i, b: __m128i) -> [__m128i; 2] {
        // SAFETY: every x86-64 has SSE2.
        unsafe { [_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)] }
    }
}
