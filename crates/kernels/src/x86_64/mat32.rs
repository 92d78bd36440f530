//! 32-bit matrix × two vectors, on AVX2 and AVX-512: see [`crate::mat32`].

use super::lanes::WideLanes;
use crate::layout::ROWS;
use crate::stream::Ahead;

/// Columns of a block, which stays in the first-level cache while all slabs use it.
const BLOCK_COLUMNS: usize = 32;

/// The 64-bit sums of the even rows and of the odd rows of a slab of `S` registers.
type Sums<V, const S: usize> = [[V; 2]; S];

/// Adds the rows of every group times the vectors to the outputs, in slabs of `S` registers, which
/// use blocks of columns in turn.
#[inline(always)]
pub(super) fn pass<L: WideLanes<N>, const N: usize, const S: usize>(
    lanes: L,
    tiles: &[i32],
    cols: usize,
    ys: [&[i32]; 2],
    [out0, out1]: [&mut [i64]; 2],
) {
    let slabs = ROWS / (N * S);
    let (registers, _) = tiles.as_chunks::<N>();
    let (columns, _) = registers.as_chunks::<S>();
    let outs = out0.chunks_exact_mut(ROWS).zip(out1.chunks_exact_mut(ROWS));

    for (tile, (out0, out1)) in columns.chunks_exact(cols * slabs).zip(outs) {
        let ys = ys[0].chunks(BLOCK_COLUMNS).zip(ys[1].chunks(BLOCK_COLUMNS));
        for (tile, (y0, y1)) in tile.chunks(BLOCK_COLUMNS * slabs).zip(ys) {
            let outs = out0
                .chunks_exact_mut(N * S)
                .zip(out1.chunks_exact_mut(N * S));
            let mut ahead = Ahead::new(1);

            for (slab, (out0, out1)) in outs.enumerate() {
                let mut sums = [[[lanes.splat(0); 2]; S]; 2];
                for ((column, &y0), &y1) in tile.chunks_exact(slabs).zip(y0).zip(y1) {
                    ahead.step(tile);
                    add(lanes, &column[slab], [y0, y1], &mut sums);
                }
                flush(lanes, &sums[0], out0);
                flush(lanes, &sums[1], out1);
            }
        }
    }
}

/// Adds a slab of a column times both values to the sums.
#[inline(always)]
fn add<L: WideLanes<N>, const N: usize, const S: usize>(
    lanes: L,
    column: &[[i32; N]; S],
    ys: [i32; 2],
    sums: &mut [Sums<L::Vector, S>; 2],
) {
    for (i, values) in column.iter().enumerate() {
        let even = lanes.load(values);
        // A product has 64 bits, so even and odd lanes are multiplied apart.
        let odd = lanes.odd_lanes(even);
        for (sums, y) in sums.iter_mut().zip(ys) {
            let y = lanes.splat(y);
            let [even_sum, odd_sum] = &mut sums[i];
            *even_sum = lanes.add_64(*even_sum, lanes.mul_even_signed(even, y));
            *odd_sum = lanes.add_64(*odd_sum, lanes.mul_even_signed(odd, y));
        }
    }
}

/// Adds the sums of a slab to its rows, which interleaves the even and the odd ones.
#[inline(always)]
fn flush<L: WideLanes<N>, const N: usize, const S: usize>(
    lanes: L,
    sums: &Sums<L::Vector, S>,
    out: &mut [i64],
) {
    let words = lanes.store_all(sums);
    for (halves, out) in words.iter().zip(out.chunks_exact_mut(N)) {
        let (pairs, _) = out.as_chunks_mut::<2>();
        for (i, pair) in pairs.iter_mut().enumerate() {
            for (out, words) in pair.iter_mut().zip(halves) {
                // A lane of 64 bits was stored as two words, the low one first.
                let sum = u64::from(words[2 * i]) | u64::from(words[2 * i + 1]) << 32;
                *out = out.wrapping_add(sum as i64);
            }
        }
    }
}
