//! A matrix of bytes times a matrix of masks modulo 2³²: D·A₁ and the digits' hint.
//!
//! The n columns of the masks are n "queries" to `papir_kernels::rows8`, which run over one block of
//! the bytes while it stays in the cache.

use papir_core::{AlignedBytes, Progress};
use papir_kernels::rows8::{self, MAX_PLANES, ROWS};
use rayon::prelude::*;

use super::byte_matrix::ByteMatrix;
use super::lwe::{LOG2_Q, Masks, N};

/// Quads of columns that are multiplied at a time: a block of 64 rows takes 64 KiB.
const BLOCK_QUADS: usize = 256;
/// Columns of a block.
const BLOCK: usize = 4 * BLOCK_QUADS;
/// Columns of the masks that are turned at a time: one cache line.
const TURN: usize = 16;

/// Σ (byte − `centre`)·row of `masks`, for each row of the matrix: rows × n words. Announces the columns
/// as steps of the stage `name`.
pub(crate) fn product(
    matrix: &ByteMatrix,
    masks: &Masks,
    centre: u32,
    name: &str,
    progress: &dyn Progress,
) -> AlignedBytes {
    let mut sums = AlignedBytes::zeroed(matrix.rows() * N * 4);
    progress.stage(name, matrix.columns() as u64);
    for first in (0..matrix.columns()).step_by(BLOCK) {
        let block = MaskBlock::new(masks, first, BLOCK.min(matrix.columns() - first), centre);
        let rows = sums.slice_mut::<u32>().par_chunks_mut(ROWS * N);
        rows.zip(matrix.tiles().par_chunks(matrix.group_bytes())).for_each_init(
            || vec![0; N * ROWS],
            |scratch, (rows, tile)| block.add_product(&tile[first * ROWS..], scratch, rows),
        );
        progress.advance(block.columns as u64);
    }
    sums
}

/// Some rows of the masks, as the kernel takes queries.
struct MaskBlock {
    columns: usize,
    /// For each of n columns of the masks: the planes of the block's rows.
    planes: Vec<Vec<i8>>,
    /// For each of n columns of the masks: the block's sum, times what centring takes off.
    centre: Vec<u32>,
}

impl MaskBlock {
    fn new(masks: &Masks, first: usize, columns: usize, centre: u32) -> Self {
        let mut words = vec![0; columns * N];
        let rows = words.par_chunks_mut(N).enumerate();
        rows.for_each(|(row, out)| masks.row(first + row, out));
        let turns = (0..N / TURN).into_par_iter();
        let (planes, centre) = turns.flat_map_iter(|turn| turned(&words, turn, centre)).unzip();
        Self { columns, planes, centre }
    }

    /// Adds this block's part to 64 rows (or the last few). `tile` starts at the block.
    fn add_product(&self, tile: &[u8], scratch: &mut [u32], rows: &mut [u32]) {
        scratch.fill(0);
        let quads = self.columns.div_ceil(4);
        let queries: Vec<&[i8]> = self.planes.iter().map(Vec::as_slice).collect();
        let mut outs: Vec<&mut [u32]> = scratch.chunks_exact_mut(ROWS).collect();
        rows8::pass_many(&tile[..quads * 4 * ROWS], quads, &queries, MAX_PLANES, &mut outs);
        for (lane, row) in rows.chunks_exact_mut(N).enumerate() {
            for ((word, sums), centre) in row.iter_mut().zip(scratch.chunks_exact(ROWS)).zip(&self.centre) {
                *word = word.wrapping_add(sums[lane]).wrapping_sub(*centre);
            }
        }
    }
}

/// [`TURN`] columns of some rows of the masks: their planes and centring.
fn turned(words: &[u32], turn: usize, centre: u32) -> impl Iterator<Item = (Vec<i8>, u32)> {
    let rows = words.len() / N;
    let mut columns = vec![0; TURN * rows];
    for (r, row) in words.chunks_exact(N).enumerate() {
        for (t, &word) in row[turn * TURN..][..TURN].iter().enumerate() {
            columns[t * rows + r] = word;
        }
    }
    (0..TURN).map(move |t| {
        let column = &columns[t * rows..][..rows];
        let mut planes = Vec::new();
        rows8::pack_planes(column, LOG2_Q, MAX_PLANES, &mut planes);
        let sum = column.iter().fold(0u32, |sum, &word| sum.wrapping_add(word));
        (planes, sum.wrapping_mul(centre))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::double::byte_matrix::tests::{example, word};
    use crate::double::lwe::first_masks;
    use papir_core::NoProgress;
    use papir_ring::prg::Seed;

    #[test]
    fn the_product_is_that_of_the_definition() {
        // A partial group of rows and two blocks of columns, the second with a partial quad.
        let (matrix, masks) = (example(70, 1030), first_masks(Seed([3; 32])));
        let mut found = product(&matrix, &masks, 128, "", &NoProgress);
        for row in [0, 1, 63, 64, 69] {
            let (mut expected, mut mask) = (vec![0; N], vec![0; N]);
            for column in 0..1030 {
                masks.row(column, &mut mask);
                super::super::lwe::add_multiple(&mut expected, &mask, i32::from(word(row, column)) - 128);
            }
            assert!(found.slice_mut::<u32>()[row * N..][..N] == expected, "row {row}");
        }
    }
}
