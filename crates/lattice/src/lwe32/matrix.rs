//! Byte matrices in the row groups of [`papir_kernels::matvec_u8`].

use std::ops::Deref;

use papir_kernels::Backend;
use papir_kernels::matvec_u8::{self, ROWS};
use rayon::prelude::*;

use super::params::N;

/// Columns that are interleaved in a tile.
const QUAD: usize = 4;

/// Bytes of a matrix, with rows padded to groups of 64 and columns padded to quads.
pub const fn matrix_bytes(rows: usize, columns: usize) -> u64 {
    rows.next_multiple_of(ROWS) as u64 * columns.next_multiple_of(QUAD) as u64
}

/// Bytes that products with masks transform: each row in whole blocks, plus one block for the
/// inverse transform.
pub const fn transformed_bytes(rows: usize, columns: usize) -> u64 {
    let blocks = columns.div_ceil(N) as u64 + 1;
    rows as u64 * blocks * N as u64
}

/// A matrix D of unsigned bytes in any container. Padding rows and columns are zero.
#[derive(Clone)]
pub struct ByteMatrix<T> {
    backend: Backend,
    rows: usize,
    columns: usize,
    tiles: T,
}

impl<T: Deref<Target = [u8]> + Sync> ByteMatrix<T> {
    /// Creates a matrix from its tiles.
    ///
    /// # Panics
    /// If their length is not [`matrix_bytes`].
    pub fn new(rows: usize, columns: usize, tiles: T) -> Self {
        assert_eq!(
            tiles.len() as u64,
            matrix_bytes(rows, columns),
            "bytes of {rows} rows × {columns} columns"
        );
        Self {
            backend: Backend::current(),
            rows,
            columns,
            tiles,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The bytes, tile after tile.
    pub fn tiles(&self) -> &T {
        &self.tiles
    }

    /// Quads of columns, the last one padded.
    fn quads(&self) -> usize {
        self.columns.div_ceil(QUAD)
    }

    /// Bytes of a row group.
    fn group_bytes(&self) -> usize {
        self.quads() * QUAD * ROWS
    }

    /// The tiles of all row groups.
    pub(super) fn par_groups(&self) -> impl IndexedParallelIterator<Item = &[u8]> {
        self.tiles.par_chunks(self.group_bytes())
    }

    /// Returns the position of a byte in the tiles.
    pub fn position(&self, row: usize, column: usize) -> usize {
        let group = row / ROWS;
        let lane = row % ROWS;
        group * self.group_bytes() + (column / QUAD * ROWS + lane) * QUAD + column % QUAD
    }

    /// Reads the first bytes of a row, as many as `out` holds.
    pub fn read_row(&self, row: usize, out: &mut [u8]) {
        let tile = &self.tiles[row / ROWS * self.group_bytes()..][..self.group_bytes()];
        matvec_u8::gather_row_block(tile, row % ROWS, 0, out);
    }

    /// Returns a column, padding rows included.
    pub fn column(&self, column: usize) -> Vec<u8> {
        let groups = self.rows.div_ceil(ROWS);
        let mut bytes = vec![0; groups * ROWS];
        matvec_u8::gather_column(&self.tiles, groups, self.quads(), column, &mut bytes);
        bytes
    }

    /// Returns Σ (byte − `centre`)·x for each query and row, modulo 2^`bits`, in one pass over the
    /// matrix. A query has a value of `bits` bits for each column.
    pub fn products(&self, queries: &[&[u32]], bits: u32, centre: u8) -> Vec<Vec<u32>> {
        if queries.is_empty() {
            return Vec::new();
        }

        let planes: Vec<Vec<i8>> = queries.iter().map(|query| planes(query, bits)).collect();
        let planes: Vec<&[i8]> = planes.iter().map(Vec::as_slice).collect();
        let parts = self.pass(&planes, matvec_u8::planes_for_bits(bits));

        queries
            .iter()
            .enumerate()
            .map(|(i, query)| {
                let rows = parts
                    .iter()
                    .flat_map(|part| part.chunks_exact(part.len() / queries.len()).nth(i));
                centred(rows.flatten().take(self.rows), query, centre)
            })
            .collect()
    }

    /// [`Self::products`] from Σ byte·x for each query and padded row.
    pub fn products_from(
        &self,
        sums: &[Vec<u64>],
        queries: &[&[u32]],
        centre: u8,
    ) -> Vec<Vec<u32>> {
        sums.iter()
            .zip(queries)
            .map(|(sums, query)| {
                // Results are modulo 2³² at most, so the low words of the sums are enough.
                let sums: Vec<u32> = sums[..self.rows].iter().map(|&sum| sum as u32).collect();
                centred(sums.iter(), query, centre)
            })
            .collect()
    }

    /// Returns the sums of each share of row groups; a share holds the sums of all queries, one
    /// query after another.
    fn pass(&self, planes: &[&[i8]], plane_count: usize) -> Vec<Vec<u32>> {
        // Four shares a thread: threads that finish early take shares that others have not begun.
        let groups = self
            .rows
            .div_ceil(ROWS)
            .div_ceil(4 * rayon::current_num_threads());

        self.tiles
            .par_chunks(groups * self.group_bytes())
            .map(|tiles| {
                let rows = tiles.len() / self.group_bytes() * ROWS;
                let mut sums = vec![0; planes.len() * rows];
                let mut outs: Vec<&mut [u32]> = sums.chunks_exact_mut(rows).collect();
                matvec_u8::pass_many(
                    self.backend,
                    tiles,
                    self.quads(),
                    planes,
                    plane_count,
                    &mut outs,
                );
                sums
            })
            .collect()
    }
}

fn planes(values: &[u32], bits: u32) -> Vec<i8> {
    let mut planes = Vec::new();
    matvec_u8::pack_planes(values, bits, matvec_u8::planes_for_bits(bits), &mut planes);
    planes
}

/// Returns Σ(w − centre)·x from Σw·x.
fn centred<'a>(sums: impl Iterator<Item = &'a u32>, query: &[u32], centre: u8) -> Vec<u32> {
    // Σ(w − c)·x = Σw·x − c·Σx, and the last term is the same for all rows.
    let total = query.iter().fold(0u32, |sum, &x| sum.wrapping_add(x));
    let centre = total.wrapping_mul(centre.into());
    sums.map(|sum| sum.wrapping_sub(centre)).collect()
}

/// Fills the zeroed tiles of a matrix column by column.
///
/// `read(c, out)` writes the bytes of column c to the front of `out`, which is zeroed and as long
/// as the padded rows.
///
/// # Errors
/// The first error of `read`.
///
/// # Panics
/// If the length of the tiles is not [`matrix_bytes`].
pub fn write_columns<E>(
    tiles: &mut [u8],
    rows: usize,
    columns: usize,
    mut read: impl FnMut(usize, &mut [u8]) -> Result<(), E>,
) -> Result<(), E> {
    let groups = rows.div_ceil(ROWS);
    let quads = columns.div_ceil(QUAD);
    let mut quad_bytes = [(); QUAD].map(|()| vec![0; groups * ROWS]);

    for quad in 0..quads {
        for (column, bytes) in (QUAD * quad..).zip(&mut quad_bytes) {
            // Cleared for every column, so that the padding stays zero.
            bytes.fill(0);
            if column < columns {
                read(column, bytes)?;
            }
        }

        matvec_u8::scatter_quad(
            tiles,
            groups,
            quads,
            quad,
            quad_bytes.each_ref().map(Vec::as_slice),
        );
    }

    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn byte(row: usize, column: usize) -> u8 {
        (row * 31 + column * 7 + row * column) as u8
    }

    fn example(rows: usize, columns: usize) -> ByteMatrix<Vec<u8>> {
        let mut tiles = vec![0; matrix_bytes(rows, columns) as usize];
        write_columns(&mut tiles, rows, columns, |column, out| {
            assert_eq!(out.len(), rows.next_multiple_of(ROWS));
            out.iter_mut()
                .enumerate()
                .take(rows)
                .for_each(|(row, out)| *out = byte(row, column));
            Ok::<(), ()>(())
        })
        .unwrap();
        ByteMatrix::new(rows, columns, tiles)
    }

    #[test]
    fn rows_columns_and_positions_agree() {
        let matrix = example(70, 133);
        let mut found = vec![0; 133];
        for row in 0..70 {
            matrix.read_row(row, &mut found);
            for (column, &value) in found.iter().enumerate() {
                assert_eq!(value, byte(row, column));
                assert_eq!(matrix.tiles()[matrix.position(row, column)], value);
            }
        }
        for column in 0..133 {
            let found = matrix.column(column);
            assert!(
                found
                    .iter()
                    .take(70)
                    .enumerate()
                    .all(|(row, &value)| value == byte(row, column))
            );
            assert!(found.len() == 128 && found[70..].iter().all(|&value| value == 0));
        }

        assert_eq!(
            matrix.tiles().iter().filter(|byte| **byte != 0).count(),
            (0..70 * 133)
                .filter(|i| byte(i / 133, i % 133) != 0)
                .count()
        );
    }

    #[test]
    #[should_panic(expected = "bytes of 70 rows × 137 columns")]
    fn bytes_of_another_shape_are_refused() {
        ByteMatrix::new(70, 137, vec![0u8; matrix_bytes(70, 133) as usize]);
    }

    #[test]
    fn errors_of_the_source_are_returned() {
        let mut tiles = vec![0; matrix_bytes(1, 9) as usize];
        let read = |column, _: &mut [u8]| if column == 6 { Err(column) } else { Ok(()) };
        assert_eq!(write_columns(&mut tiles, 1, 9, read), Err(6));
    }

    #[test]
    fn products_match_the_definition() {
        let matrix = example(70, 13);
        for bits in [8u32, 20, 24, 27, 32] {
            let mask = u32::MAX >> (32 - bits);
            let query = |i: u32| {
                (0..13u32)
                    .map(|c| (c + i).wrapping_mul(0x9e37_79b9) & mask)
                    .collect()
            };
            let queries: [Vec<u32>; 3] = [0, 1, 2].map(query);
            let found = matrix.products(&queries.each_ref().map(Vec::as_slice), bits, 64);
            for (query, found) in queries.iter().zip(&found) {
                assert_eq!(found.len(), 70);
                for (row, &sum) in found.iter().enumerate() {
                    let terms = query.iter().enumerate();
                    let expected = terms.fold(0u32, |sum, (column, x)| {
                        sum.wrapping_add(
                            (u32::from(byte(row, column)).wrapping_sub(64)).wrapping_mul(*x),
                        )
                    });
                    assert_eq!((sum ^ expected) & mask, 0, "{bits} bits, row {row}");
                }
            }
        }

        assert!(matrix.products(&[], 32, 0).is_empty());
    }

    #[test]
    fn transformed_bytes_count_whole_blocks_and_the_inverse() {
        assert_eq!(transformed_bytes(3, 1), 3 * 2 * 1024);
        assert_eq!(transformed_bytes(5, 1024), 5 * 2 * 1024);
        assert_eq!(transformed_bytes(1, 1025), 3 * 1024);
    }
}
