//! 32-bit matrix × two vectors: signed products are two to an instruction.

use std::arch::aarch64::*;

use crate::layout::ROWS;

/// Rows that are summed at a time: four registers of words, and two sums for each half of one.
const SLAB: usize = 16;
/// Registers of words.
const REGISTERS: usize = SLAB / 4;
/// Columns of a block, which stays in the first-level cache while all slabs of rows use it.
const BLOCK_COLUMNS: usize = 32;

/// Sums of both vectors, for the low and the high half of each register.
type Sums = [[[int64x2_t; 2]; REGISTERS]; 2];

/// Adds the rows of every group times the vectors to `outs`.
pub(crate) fn pass(tiles: &[i32], cols: usize, ys: [&[i32]; 2], outs: [&mut [i64]; 2]) {
    let [out0, out1] = outs;
    let (registers, _) = tiles.as_chunks::<4>();
    let (slabs, _) = registers.as_chunks::<REGISTERS>();
    let (columns, _) = slabs.as_chunks::<{ ROWS / SLAB }>();
    let outs = out0.chunks_exact_mut(ROWS).zip(out1.chunks_exact_mut(ROWS));

    for (tile, (out0, out1)) in columns.chunks_exact(cols).zip(outs) {
        for (block, tile) in tile.chunks(BLOCK_COLUMNS).enumerate() {
            let ys = ys.map(|y| &y[block * BLOCK_COLUMNS..][..tile.len()]);
            let outs = out0.chunks_exact_mut(SLAB).zip(out1.chunks_exact_mut(SLAB));
            for (slab, (out0, out1)) in outs.enumerate() {
                let sums = sum(tile, slab, ys);
                for (out, sums) in [out0, out1].into_iter().zip(&sums) {
                    add(out, sums);
                }
            }
        }
    }
}

/// Sums a block of columns for the rows of one slab.
#[inline(always)]
fn sum(tile: &[[[[i32; 4]; REGISTERS]; ROWS / SLAB]], slab: usize, [y0, y1]: [&[i32]; 2]) -> Sums {
    // SAFETY: every aarch64 CPU has NEON; 16 bytes of each register are read, at any alignment.
    unsafe {
        let mut sums = [[[vdupq_n_s64(0); 2]; REGISTERS]; 2];

        for ((column, &y0), &y1) in tile.iter().zip(y0).zip(y1) {
            let words = column[slab]
                .each_ref()
                .map(|words| vld1q_s32(words.as_ptr()));
            for (sums, y) in sums.iter_mut().zip([y0, y1]) {
                let y = vdupq_n_s32(y);
                for (sums, &words) in sums.iter_mut().zip(&words) {
                    sums[0] = vmlal_s32(sums[0], vget_low_s32(words), vget_low_s32(y));
                    sums[1] = vmlal_high_s32(sums[1], words, y);
                }
            }
        }

        sums
    }
}

/// Adds the sums to the rows, modulo 2^64.
#[inline(always)]
fn add(out: &mut [i64], sums: &[[int64x2_t; 2]; REGISTERS]) {
    for (out, &sum) in out.chunks_exact_mut(2).zip(sums.as_flattened()) {
        // SAFETY: every aarch64 CPU has NEON; `out` has the two numbers that are read and written.
        unsafe { vst1q_s64(out.as_mut_ptr(), vaddq_s64(vld1q_s64(out.as_ptr()), sum)) };
    }
}
