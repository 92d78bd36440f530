//! Four lanes of NEON, which every aarch64 CPU has.

use std::arch::aarch64::*;

use bytemuck::Pod;

use crate::portable::lanes::{ByteLanes, FourLanes, Lanes};

/// Four lanes. It needs no proof, as NEON is part of aarch64.
#[derive(Clone, Copy)]
pub(crate) struct Neon;

impl Lanes<4> for Neon {
    type Vector = uint32x4_t;

    #[inline(always)]
    fn load<T: Pod>(self, cells: &[T; 4]) -> uint32x4_t {
        const { assert!(size_of::<T>() == 4) };
        // SAFETY: every aarch64 CPU has NEON; 16 bytes of `cells` are read, at any alignment.
        unsafe { vreinterpretq_u32_u8(vld1q_u8(cells.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store<T: Pod>(self, cells: &mut [T; 4], value: uint32x4_t) {
        const { assert!(size_of::<T>() == 4) };
        // SAFETY: every aarch64 CPU has NEON; 16 bytes of `cells` are written, at any alignment.
        unsafe { vst1q_u8(cells.as_mut_ptr().cast(), vreinterpretq_u8_u32(value)) }
    }

    #[inline(always)]
    fn splat<T: Pod>(self, cell: T) -> uint32x4_t {
        // SAFETY: every aarch64 CPU has NEON.
        unsafe { vdupq_n_u32(bytemuck::cast(cell)) }
    }

    #[inline(always)]
    fn add_products(self, sum: uint32x4_t, a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
        // SAFETY: every aarch64 CPU has NEON.
        unsafe {
            let a = vreinterpretq_s16_u32(a);
            let b = vreinterpretq_s16_u32(b);
            let low = vmull_s16(vget_low_s16(a), vget_low_s16(b));
            // A pair reaches 2^31 only if all four words are −32768, and then wraps, as defined.
            let pairs = vpaddq_s32(low, vmull_high_s16(a, b));
            vaddq_u32(sum, vreinterpretq_u32_s32(pairs))
        }
    }
}

impl ByteLanes<4> for Neon {
    #[inline(always)]
    fn split_bytes(self, cells: uint32x4_t) -> [uint32x4_t; 2] {
        // SAFETY: every aarch64 CPU has NEON.
        unsafe {
            let words = vreinterpretq_u16_u32(cells);
            let even = vandq_u16(words, vdupq_n_u16(0xff));
            [even, vshrq_n_u16::<8>(words)].map(|half| vreinterpretq_u32_u16(half))
        }
    }
}

impl FourLanes for Neon {
    #[inline(always)]
    fn zip(self, a: uint32x4_t, b: uint32x4_t) -> [uint32x4_t; 2] {
        // SAFETY: every aarch64 CPU has NEON.
        unsafe { [vzip1q_u32(a, b), vzip2q_u32(a, b)] }
    }
}
