//! The mask matrix A and its products with byte rows.

use std::ops::Deref;

use papir_kernels::matvec_u8::{self, ROWS};
use papir_kernels::pointwise;
use papir_ring::prg::Seed;
use papir_ring::{CyclotomicRing, Poly, Ring, Values};
use rayon::prelude::*;

use super::matrix::ByteMatrix;
use super::params::{LweParams, MAX_BLOCKS, MODULE_DEGREE, MODULE_RANK, N};

/// The matrix A, expanded from a seed. Each d rows are `rank` negacyclic d × d blocks side by side,
/// so that a row has n = rank·d words. Each block is one ring element, with a stream of its own.
#[derive(Clone, Copy, Debug)]
pub struct Masks {
    seed: Seed,
    label: &'static str,
    degree: usize,
    rank: usize,
}

impl Masks {
    /// The masks for [`LweParams::new`] under a public seed; `label` is the purpose.
    pub const fn new(seed: Seed, label: &'static str) -> Self {
        Self {
            seed,
            label,
            degree: N,
            rank: 1,
        }
    }

    /// The masks for [`LweParams::binary`] under a public seed; `label` is the purpose.
    pub const fn module(seed: Seed, label: &'static str) -> Self {
        Self {
            seed,
            label,
            degree: MODULE_DEGREE,
            rank: MODULE_RANK,
        }
    }

    /// Returns ring element `k` of block row `i`: d uniform words, centred.
    pub fn block(&self, i: usize, k: usize) -> Vec<i32> {
        let mut words = vec![0; self.degree];
        let mut stream = self.seed.expand(self.label, (i * self.rank + k) as u64);
        stream.uniform_bits(bytemuck::cast_slice_mut(&mut words));
        words
    }

    /// Writes one row of A, n words.
    pub fn row(&self, index: usize, out: &mut [u32]) {
        for (k, out) in out.chunks_exact_mut(self.degree).enumerate() {
            self.row_part(index, k, out);
        }
    }

    /// Writes a row's words in one block: with c = `index` mod d, the ring element's coefficients
    /// from c down to 0, then the coefficients from d − 1 down to c + 1, negated.
    fn row_part(&self, index: usize, k: usize, out: &mut [u32]) {
        let block = self.block(index / self.degree, k);
        let (low, high) = block.split_at(index % self.degree + 1);
        for (out, &word) in out.iter_mut().zip(low.iter().rev()) {
            *out = word as u32;
        }
        for (out, &word) in out[low.len()..].iter_mut().zip(high.iter().rev()) {
            *out = (word as u32).wrapping_neg();
        }
    }

    /// Returns the ring elements of block row `i` at X⁻¹, in values. Their coefficients are the
    /// first row of the block row.
    fn reflected(&self, ring: &Ring, i: usize) -> Vec<Poly<Values>> {
        let mut row = vec![0i32; self.degree];
        (0..self.rank)
            .map(|k| {
                self.row_part(i * self.degree, k, bytemuck::cast_slice_mut(&mut row));
                ring.forward(ring.from_signed(&row))
            })
            .collect()
    }
}

/// The rows of A for the columns of a matrix, prepared for products with centred bytes.
#[derive(Clone)]
pub struct MaskProducts {
    /// Block rows at X⁻¹, 8 bytes a coefficient.
    blocks: Vec<Poly<Values>>,
    /// Σ centre·row over all columns.
    centre: Vec<u32>,
}

impl MaskProducts {
    /// Prepares products with matrices of `columns` columns, from whose bytes `centre` is
    /// subtracted.
    pub fn new(params: &LweParams, masks: &Masks, columns: usize, centre: u8) -> Self {
        let blocks = (0..columns.div_ceil(params.ring().degree())).into_par_iter();
        let blocks = blocks
            .flat_map_iter(|i| masks.reflected(params.ring(), i))
            .collect();

        // With `centre` still zero, the product of a constant row is the sum to subtract.
        let mut products = Self {
            blocks,
            centre: vec![0; params.n()],
        };
        products.centre = products.of_row(params, &vec![centre; columns]);
        products
    }

    /// Returns Σ (byte − centre)·row of A, n words, over a row of one byte for each column.
    pub fn of_row(&self, params: &LweParams, bytes: &[u8]) -> Vec<u32> {
        let mut row = vec![0; params.n()];
        let mut sums = Sums::new(params);
        let blocks = self.blocks.chunks(MAX_BLOCKS * params.rank());
        for (bytes, blocks) in bytes
            .chunks(MAX_BLOCKS * params.ring().degree())
            .zip(blocks)
        {
            sums.add_products(bytes, blocks, &mut row);
        }

        self.subtract_centre(&mut row);
        row
    }

    /// Adds [`MaskProducts::of_row`] for each row of a matrix to `out`, rows × n words. `advance`
    /// is called from any thread with the number of rows just finished.
    ///
    /// # Panics
    /// If `out` is shorter than rows × n words.
    pub fn add_matrix<T: Deref<Target = [u8]> + Sync>(
        &self,
        params: &LweParams,
        matrix: &ByteMatrix<T>,
        out: &mut [u32],
        advance: impl Fn(usize) + Sync,
    ) {
        let n = params.n();
        let groups = out[..matrix.rows() * n].par_chunks_mut(ROWS * n);
        groups.zip(matrix.par_groups()).for_each_init(
            // Buffers serve many row groups, one after another.
            || Sums::new(params),
            |sums, (rows, tile)| {
                self.add_group(sums, tile, matrix.columns(), rows);
                advance(rows.len() / n);
            },
        );
    }

    /// Adds the products of one row group.
    fn add_group(&self, sums: &mut Sums<'_>, tile: &[u8], columns: usize, rows: &mut [u32]) {
        let n = sums.params.n();
        let degree = sums.params.ring().degree();

        // In parts: the sum of more block rows could exceed half the product of both primes.
        for (part, blocks) in self
            .blocks
            .chunks(MAX_BLOCKS * sums.params.rank())
            .enumerate()
        {
            let first = part * MAX_BLOCKS * degree;
            let taken = (MAX_BLOCKS * degree).min(columns - first);

            let mut bytes = vec![0; ROWS * taken];
            matvec_u8::gather_rows(tile, first / 4, taken, &mut bytes);
            for (bytes, row) in bytes.chunks_exact(taken).zip(rows.chunks_exact_mut(n)) {
                sums.add_products(bytes, blocks, row);
            }
        }

        rows.chunks_exact_mut(n)
            .for_each(|row| self.subtract_centre(row));
    }

    fn subtract_centre(&self, row: &mut [u32]) {
        row.iter_mut()
            .zip(&self.centre)
            .for_each(|(word, centre)| *word = word.wrapping_sub(*centre));
    }
}

/// Accumulators for sums of products, one for each ring element of a row, modulo both primes.
struct Sums<'a> {
    params: &'a LweParams,
    sums: Vec<u64>,
    values: Vec<u32>,
}

impl<'a> Sums<'a> {
    fn new(params: &'a LweParams) -> Self {
        Self {
            params,
            sums: vec![0; 2 * params.n()],
            values: vec![0; 2 * params.ring().degree()],
        }
    }

    /// Adds bytes times blocks, at most [`MAX_BLOCKS`] block rows, to a row modulo q.
    fn add_products(&mut self, bytes: &[u8], blocks: &[Poly<Values>], row: &mut [u32]) {
        let backend = self.params.ring().backend();
        let degree = self.params.ring().degree();
        let rank = self.params.rank();
        self.sums.fill(0);

        for (bytes, blocks) in bytes.chunks(degree).zip(blocks.chunks(rank)) {
            self.transform(bytes);
            // A sum has one product for each block row: at most 256 below 2⁵⁶, which fit 64 bits.
            for (sums, block) in self.sums.chunks_exact_mut(2 * degree).zip(blocks) {
                pointwise::mul_accumulate(backend, sums, &self.values, block.residues());
            }
        }

        for (k, row) in row.chunks_exact_mut(degree).enumerate() {
            let sums = self.finish(k);
            row.iter_mut()
                .zip(sums)
                .for_each(|(word, sum)| *word = word.wrapping_add(sum as u32));
        }
    }

    /// Transforms bytes to values. Bytes are below both primes, so they are residues without a
    /// reduction.
    fn transform(&mut self, bytes: &[u8]) {
        let ring = self.params.ring();
        let (first, second) = self.values.split_at_mut(ring.degree());
        // `values` still holds the previous block, so the words beyond a short last one are
        // cleared.
        first[bytes.len()..].fill(0);
        first
            .iter_mut()
            .zip(bytes)
            .for_each(|(value, &byte)| *value = byte.into());
        second.copy_from_slice(first);

        ring.table(0).forward(ring.backend(), first);
        ring.table(1).forward(ring.backend(), second);
    }

    /// Returns one ring element's sums over the integers.
    fn finish(&self, k: usize) -> Vec<i64> {
        let ring = self.params.ring();
        let mut sum = ring.zero::<Values>();
        let degree = ring.degree();
        let sums = self.sums[2 * k * degree..].chunks_exact(degree);
        for ((out, sums), prime) in sum.parts_mut().into_iter().zip(sums).zip(ring.primes()) {
            pointwise::reduce(ring.backend(), out, sums, prime);
        }

        ring.to_centred(&ring.inverse(sum))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::words::{add_multiple, dot};
    use super::super::{matrix_bytes, write_columns};
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const MASKS: Masks = Masks::new(Seed([3; 32]), "test");

    /// Σ (byte − centre)·row of A by definition.
    fn naive(bytes: &[u8], centre: u8) -> Vec<u32> {
        let mut sum = vec![0; N];
        let mut mask = vec![0; N];
        for (column, &byte) in bytes.iter().enumerate() {
            MASKS.row(column, &mut mask);
            add_multiple(&mut sum, &mask, i32::from(byte) - i32::from(centre));
        }
        sum
    }

    fn byte(row: usize, column: usize) -> u8 {
        (row * 31 + column * 7 + row * column) as u8
    }

    #[test]
    fn rows_compute_negacyclic_products() {
        let key: Vec<u32> = (0..N as u32)
            .map(|i| i.wrapping_mul(0x9e37_79b9) % 200)
            .collect();
        let block = MASKS.block(1, 0);
        let mut row = vec![0; N];
        for c in [0, 1, 17, N - 2, N - 1] {
            // Coefficient c of a·s by definition.
            let product = (0..N).fold(0u32, |sum, j| {
                let (at, sign) = if j <= c {
                    (c - j, 1)
                } else {
                    (N + c - j, -1i32)
                };
                sum.wrapping_add((block[at].wrapping_mul(sign) as u32).wrapping_mul(key[j]))
            });
            MASKS.row(N + c, &mut row);
            assert_eq!(dot(&row, &key), product, "row {c}");
        }
    }

    #[test]
    fn no_two_rows_are_equal() {
        let labels = ["first", "second"].map(|label| Masks::new(Seed([1; 32]), label));
        let rows = labels
            .iter()
            .flat_map(|masks| (0..2 * N + 3).map(move |index| (masks, index)));
        let mut rows: Vec<Vec<u32>> = rows
            .map(|(masks, index)| {
                let mut row = vec![0; N];
                masks.row(index, &mut row);
                row
            })
            .collect();
        rows.sort();

        assert!(
            rows.windows(2).all(|pair| pair[0][..4] != pair[1][..4]),
            "two masks are equal"
        );
    }

    #[test]
    fn products_match_the_definition() {
        let params = LweParams::new().unwrap();
        for columns in [1, 7, N - 1, N, N + 1, 2 * N + 30] {
            for centre in [0, 64, 128] {
                let products = MaskProducts::new(&params, &MASKS, columns, centre);
                for value in [None, Some(0), Some(255)] {
                    let bytes: Vec<u8> =
                        (0..columns).map(|c| value.unwrap_or(byte(5, c))).collect();
                    let found = products.of_row(&params, &bytes);
                    assert!(
                        found == naive(&bytes, centre),
                        "{columns} columns − {centre}, {value:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn module_products_match_the_definition() {
        const MODULE: Masks = Masks::module(Seed([4; 32]), "test");
        let params = LweParams::binary().unwrap();
        for columns in [
            1,
            MODULE_DEGREE - 1,
            MODULE_DEGREE,
            3 * MODULE_DEGREE + 30,
            MAX_BLOCKS * 256 + 9,
        ] {
            let mut expected = vec![0; params.n()];
            let mut mask = vec![0; params.n()];
            let bytes: Vec<u8> = (0..columns).map(|c| byte(5, c)).collect();
            for (column, &byte) in bytes.iter().enumerate() {
                MODULE.row(column, &mut mask);
                add_multiple(&mut expected, &mask, i32::from(byte) - 128);
            }
            let products = MaskProducts::new(&params, &MODULE, columns, 128);
            assert!(
                products.of_row(&params, &bytes) == expected,
                "{columns} columns"
            );
        }
    }

    #[test]
    fn no_two_blocks_of_a_module_are_equal() {
        const MODULE: Masks = Masks::module(Seed([4; 32]), "test");
        let mut parts: Vec<Vec<i32>> = (0..20)
            .flat_map(|i| (0..MODULE_RANK).map(move |k| MODULE.block(i, k)))
            .collect();
        parts.sort();

        assert!(
            parts.windows(2).all(|pair| pair[0][..4] != pair[1][..4]),
            "two masks are equal"
        );
    }

    #[test]
    fn more_blocks_than_one_sum_holds_are_reduced_in_between() {
        let params = LweParams::new().unwrap();
        let columns = (MAX_BLOCKS + 1) * N + 5;
        let products = MaskProducts::new(&params, &MASKS, columns, 128);
        let bytes: Vec<u8> = (0..columns).map(|c| 255 * (byte(1, c) % 2)).collect();
        let row = products.of_row(&params, &bytes);

        assert!(row == naive(&bytes, 128));
        let mut tiles = vec![0; matrix_bytes(2, columns) as usize];
        write_columns(&mut tiles, 2, columns, |column, out| {
            out[..2].fill(bytes[column]);
            Ok::<(), ()>(())
        })
        .unwrap();
        let mut out = vec![0; 2 * N];
        let matrix = ByteMatrix::new(2, columns, tiles.as_slice());
        products.add_matrix(&params, &matrix, &mut out, |_| ());
        assert!(out[..N] == row && out[N..] == row);
    }

    /// The largest coefficients of either sign, in as many blocks as are summed.
    #[test]
    fn the_largest_sums_are_exact() {
        assert_eq!(MAX_BLOCKS, 59);
        let params = LweParams::new().unwrap();
        let ring = params.ring();
        let largest = ring.forward(ring.from_signed(&[i32::MIN; N]));
        let mut sums = Sums::new(&params);
        let mut row = vec![0; N];
        sums.add_products(&[255; MAX_BLOCKS * N], &vec![largest; MAX_BLOCKS], &mut row);
        let coefficient =
            |c: i64| MAX_BLOCKS as i64 * 255 * -(1i64 << 31) * (2 * (c + 1) - N as i64);
        let expected: Vec<i64> = (0..N as i64).map(coefficient).collect();

        assert_eq!(sums.finish(0), expected);
        assert!(
            row.iter()
                .zip(&expected)
                .all(|(word, exact)| *word == *exact as u32)
        );
        assert!(expected[N - 1].unsigned_abs() > ring.modulus() / 2 / 60 * 59);
    }

    #[test]
    fn matrix_products_are_added_to_the_output() {
        let params = LweParams::new().unwrap();
        for (rows, columns) in [(1, 1), (70, 1030), (64, 1024), (129, 13)] {
            let mut tiles = vec![0; matrix_bytes(rows, columns) as usize];
            write_columns(&mut tiles, rows, columns, |column, out| {
                out.iter_mut()
                    .take(rows)
                    .enumerate()
                    .for_each(|(row, out)| *out = byte(row, column));
                Ok::<(), ()>(())
            })
            .unwrap();
            let matrix = ByteMatrix::new(rows, columns, tiles.as_slice());
            let products = MaskProducts::new(&params, &MASKS, columns, 128);
            let mut out = vec![7; rows * N];
            let done = AtomicUsize::new(0);
            products.add_matrix(&params, &matrix, &mut out, |rows| {
                done.fetch_add(rows, Ordering::Relaxed);
            });
            assert_eq!(done.into_inner(), rows);
            for (row, words) in out.chunks_exact(N).enumerate() {
                let bytes: Vec<u8> = (0..columns).map(|column| byte(row, column)).collect();
                let expected = products.of_row(&params, &bytes);
                assert!(
                    words
                        .iter()
                        .zip(&expected)
                        .all(|(a, b)| a.wrapping_sub(7) == *b),
                    "row {row}"
                );
            }
        }
    }
}
