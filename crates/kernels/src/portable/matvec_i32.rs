//! Matrix of 32-bit words × vectors in two halves: see [`crate::matvec_i32`].

use super::mat32;
use super::matvec_i16::centre;
use crate::layout::ROWS;

/// Bits of the lower half of a value.
const HALF_BITS: u32 = 32;
/// Columns that all vectors use in turn: 8 KiB, which stay in the first-level cache.
const BLOCK_COLUMNS: usize = 32;

/// Adds the rows of every group times each vector to its sums.
pub(crate) fn pass_many(
    tiles: &[i32],
    cols: usize,
    ys: &[&[u64]],
    bits: u32,
    outs: &mut [&mut [u64]],
) {
    in_halves(tiles, cols, ys, bits, outs, mat32::pass);
}

/// [`pass_many`] by `pass`, a product of the matrix and two vectors of 32-bit words.
#[inline(always)]
pub(crate) fn in_halves(
    tiles: &[i32],
    cols: usize,
    ys: &[&[u64]],
    bits: u32,
    outs: &mut [&mut [u64]],
    pass: impl Fn(&[i32], usize, [&[i32]; 2], [&mut [i64]; 2]),
) {
    let halves: Vec<[Vec<i32>; 2]> = ys.iter().map(|y| split(y, bits)).collect();
    // One vector needs no blocks: nothing is read twice.
    let block = if ys.len() == 1 { cols } else { BLOCK_COLUMNS };
    let mut sums = vec![[[0; ROWS]; 2]; ys.len()];

    for (group, tile) in tiles.chunks_exact(cols * ROWS).enumerate() {
        sums.fill([[0; ROWS]; 2]);
        for (words, first) in tile.chunks(block * ROWS).zip((0..).step_by(block)) {
            let taken = words.len() / ROWS;
            for (halves, sums) in halves.iter().zip(&mut sums) {
                let ys = halves.each_ref().map(|half| &half[first..][..taken]);
                pass(words, taken, ys, sums.each_mut().map(|sums| &mut sums[..]));
            }
        }

        // The halves are joined once for a group: sums modulo 2^64 need no reduction before.
        for (out, sums) in outs.iter_mut().zip(&sums) {
            join(&mut out[group * ROWS..][..ROWS], sums, bits);
        }
    }
}

/// Splits values modulo 2^bits: `value ≡ low + 2^32·high`, with signed halves.
fn split(values: &[u64], bits: u32) -> [Vec<i32>; 2] {
    let low = values
        .iter()
        .map(|&value| centre(value, bits) as i32)
        .collect();
    let high = values
        .iter()
        .map(|&value| {
            let value = centre(value, bits);
            // A low half of 2^31 or more is read as negative, which the high half makes up for.
            (value.wrapping_sub(i64::from(value as i32)) >> HALF_BITS) as i32
        })
        .collect();
    [low, high]
}

/// Adds the sums of both halves to the outputs, modulo 2^bits. Sums that wrapped modulo 2^64 are
/// still correct.
fn join(out: &mut [u64], [low, high]: &[[i64; ROWS]; 2], bits: u32) {
    for ((out, &low), &high) in out.iter_mut().zip(low).zip(high) {
        let sum = (high << HALF_BITS).wrapping_add(low) as u64;
        *out = out.wrapping_add(sum) & ((1 << bits) - 1);
    }
}
