//! The hint H = D·A modulo 2³², with centred words of D.
//!
//! Row c of A belongs to column c of D and has a seed of its own. The n columns of A are n
//! "queries" to `papir_kernels::rows8`, which run over one block of the matrix while it stays in
//! the cache.

use bytemuck::cast_slice_mut;
use papir_core::{AlignedBytes, Progress};
use papir_kernels::rows8::{self, MAX_PLANES, ROWS};
use papir_ring::prg::Seed;
use rayon::prelude::*;

use super::layout::Layout;
use super::params::N;

/// Names A among everything that the seed expands to.
const LABEL: &str = "simple/lwe-matrix";
/// Quads of columns that are multiplied at a time: a block of 64 rows takes 64 KiB.
const BLOCK_QUADS: usize = 256;
/// Columns of a block.
const BLOCK: usize = 4 * BLOCK_QUADS;
/// Columns of A that are turned at a time: one cache line.
const TURN: usize = 16;
/// Half the plaintext modulus: what centring takes off a word.
pub(super) const CENTRE: u32 = 128;

/// Row `column` of A: n uniform words.
pub(super) fn matrix_row(seed: &Seed, column: usize, row: &mut [u32]) {
    seed.expand(LABEL, column as u64).uniform_bits(row);
}

/// The whole hint, rows × n words.
pub(super) fn compute(seed: &Seed, tiles: &[u8], layout: &Layout, progress: &dyn Progress) -> AlignedBytes {
    let mut hint = AlignedBytes::zeroed(layout.rows * N * 4);
    progress.stage("hint", layout.columns as u64);
    for first in (0..layout.columns).step_by(BLOCK) {
        let block = MatrixBlock::new(seed, first, BLOCK.min(layout.columns - first));
        let rows = hint.slice_mut::<u32>().par_chunks_mut(ROWS * N);
        rows.zip(tiles.par_chunks(layout.group_bytes())).for_each_init(
            || vec![0; N * ROWS],
            |sums, (hint, tile)| block.add_product(&tile[first * ROWS..], sums, hint),
        );
        progress.advance(block.columns as u64);
    }
    hint
}

/// Some rows of A, as the kernel takes queries.
struct MatrixBlock {
    columns: usize,
    /// For each of n columns of A: the planes of the block's rows.
    planes: Vec<Vec<i8>>,
    /// For each of n columns of A: the block's sum, times what centring takes off.
    centre: Vec<u32>,
}

impl MatrixBlock {
    fn new(seed: &Seed, first: usize, columns: usize) -> Self {
        let mut matrix = vec![0; columns * N];
        let rows = matrix.par_chunks_mut(N).enumerate();
        rows.for_each(|(row, out)| matrix_row(seed, first + row, out));
        let (planes, centre) =
            (0..N / TURN).into_par_iter().flat_map_iter(|turn| turned(&matrix, turn)).unzip();
        Self { columns, planes, centre }
    }

    /// Adds this block's part to 64 rows (or the last few) of the hint. `tile` starts at the block.
    fn add_product(&self, tile: &[u8], sums: &mut [u32], hint: &mut [u32]) {
        sums.fill(0);
        let quads = self.columns.div_ceil(4);
        let queries: Vec<&[i8]> = self.planes.iter().map(Vec::as_slice).collect();
        let mut outs: Vec<&mut [u32]> = sums.chunks_exact_mut(ROWS).collect();
        rows8::pass_many(&tile[..quads * 4 * ROWS], quads, &queries, MAX_PLANES, &mut outs);
        for (lane, row) in hint.chunks_exact_mut(N).enumerate() {
            for ((word, sums), centre) in row.iter_mut().zip(sums.chunks_exact(ROWS)).zip(&self.centre) {
                *word = word.wrapping_add(sums[lane]).wrapping_sub(*centre);
            }
        }
    }
}

/// [`TURN`] columns of some rows of A: their planes and centring.
fn turned(matrix: &[u32], turn: usize) -> impl Iterator<Item = (Vec<i8>, u32)> {
    let rows = matrix.len() / N;
    let mut columns = vec![0; TURN * rows];
    for (r, row) in matrix.chunks_exact(N).enumerate() {
        for (t, &word) in row[turn * TURN..][..TURN].iter().enumerate() {
            columns[t * rows + r] = word;
        }
    }
    (0..TURN).map(move |t| {
        let column = &columns[t * rows..][..rows];
        let mut planes = Vec::new();
        rows8::pack_planes(column, u32::BITS, MAX_PLANES, &mut planes);
        let sum = column.iter().fold(0u32, |sum, &word| sum.wrapping_add(word));
        (planes, sum.wrapping_mul(CENTRE))
    })
}

/// Adds `difference` · row of A to a row of the hint, given as bytes.
pub(super) fn add_row(hint_row: &mut [u8], matrix_row: &[u32], difference: i32) {
    for (word, &a) in cast_slice_mut::<u8, u32>(hint_row).iter_mut().zip(matrix_row) {
        *word = word.wrapping_add(a.wrapping_mul(difference as u32));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use papir_core::{NoProgress, Shape};

    #[test]
    fn the_hint_is_the_product_by_its_definition() {
        // 70 rows and 1030 columns: a partial group and two blocks, the second with a partial quad.
        let layout = Layout::new(&Shape::of_bytes(7 * 1030 - 3, 10).unwrap(), 7).unwrap();
        let word = |row: usize, column: usize| (row * 31 + column * 7 + row * column) as u8;
        let mut tiles = vec![0; layout.tile_bytes() as usize];
        for row in 0..layout.rows {
            for column in 0..layout.columns {
                tiles[layout.tile_position(row, column)] = word(row, column);
            }
        }
        let seed = Seed([3; 32]);
        let mut hint = compute(&seed, &tiles, &layout, &NoProgress);
        let matrix: Vec<Vec<u32>> = (0..layout.columns)
            .map(|column| {
                let mut row = vec![0; N];
                matrix_row(&seed, column, &mut row);
                row
            })
            .collect();
        for row in [0, 1, 63, 64, 69] {
            let mut expected = vec![0u32; N];
            for (column, a) in matrix.iter().enumerate() {
                let centred = i32::from(word(row, column)) - 128;
                for (sum, &a) in expected.iter_mut().zip(a) {
                    *sum = sum.wrapping_add(a.wrapping_mul(centred as u32));
                }
            }
            assert!(hint.slice_mut::<u32>()[row * N..][..N] == expected, "row {row}");
        }
    }

    #[test]
    fn rows_of_a_all_differ() {
        let mut rows = vec![vec![0; N]; 300];
        rows.iter_mut().enumerate().for_each(|(column, row)| matrix_row(&Seed([1; 32]), column, row));
        rows.sort();
        assert!(rows.windows(2).all(|pair| pair[0][..4] != pair[1][..4]), "two masks are equal");
    }
}
