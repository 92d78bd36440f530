//! A matrix of unsigned bytes in the layout of `papir_kernels::rows8`, and its products.

use papir_core::{AlignedBytes, Blob, Error, Result};
use papir_kernels::rows8::{self, ROWS};
use rayon::prelude::*;

/// Columns that lie together in a tile.
const QUAD: usize = 4;

/// Rows in groups of 64, columns in quads; both filled up with zeros.
#[derive(Clone)]
pub(crate) struct ByteMatrix {
    rows: usize,
    columns: usize,
    tiles: Blob,
}

/// Bytes of a matrix of this many rows and columns.
pub(crate) fn tile_bytes(rows: usize, columns: usize) -> u64 {
    rows.next_multiple_of(ROWS) as u64 * columns.next_multiple_of(QUAD) as u64
}

impl ByteMatrix {
    /// Reads a matrix column by column: `read(c, out)` writes the bytes of column c to the front of
    /// `out`, which is zero.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn from_columns(
        rows: usize,
        columns: usize,
        mut read: impl FnMut(usize, &mut [u8]) -> Result<()>,
    ) -> Result<Self> {
        let (groups, quads) = (rows.div_ceil(ROWS), columns.div_ceil(QUAD));
        let mut tiles = AlignedBytes::zeroed(tile_bytes(rows, columns) as usize);
        let mut quad_bytes = [(); QUAD].map(|()| vec![0; groups * ROWS]);
        for quad in 0..quads {
            for (column, bytes) in (QUAD * quad..).zip(&mut quad_bytes) {
                bytes.fill(0);
                if column < columns {
                    read(column, bytes)?;
                }
            }
            let quad_bytes = quad_bytes.each_ref().map(Vec::as_slice);
            rows8::scatter_quad(tiles.bytes_mut(), groups, quads, quad, quad_bytes);
        }
        Ok(Self { rows, columns, tiles: tiles.into() })
    }

    /// A matrix whose tiles are at hand.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub(crate) fn from_tiles(rows: usize, columns: usize, tiles: Blob, what: &'static str) -> Result<Self> {
        let expected = tile_bytes(rows, columns);
        if tiles.len() as u64 != expected {
            return Err(Error::Length { what, found: tiles.len() as u64, expected });
        }
        Ok(Self { rows, columns, tiles })
    }

    /// The rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The columns.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// The bytes, tile after tile.
    pub(crate) fn tiles(&self) -> &Blob {
        &self.tiles
    }

    /// Quads of columns.
    pub(crate) fn quads(&self) -> usize {
        self.columns.div_ceil(QUAD)
    }

    /// Bytes of a group of rows.
    pub(crate) fn group_bytes(&self) -> usize {
        self.quads() * QUAD * ROWS
    }

    /// The position of a byte in the tiles.
    pub(crate) fn position(&self, row: usize, column: usize) -> usize {
        let (group, lane) = (row / ROWS, row % ROWS);
        group * self.group_bytes() + (column / QUAD * ROWS + lane) * QUAD + column % QUAD
    }

    /// A row, byte by byte.
    pub(crate) fn row(&self, row: usize, out: &mut [u8]) {
        let tile = &self.tiles[row / ROWS * self.group_bytes()..][..self.group_bytes()];
        rows8::gather_row_block(tile, row % ROWS, 0, out);
    }

    /// Σ (byte − `centre`)·x of each row with each query, modulo 2^`bits`, in one read of the
    /// matrix. A query has a value of `bits` bits for each column.
    pub(crate) fn products(&self, queries: &[&[u32]], bits: u32, centre: u32) -> Vec<Vec<u32>> {
        if queries.is_empty() {
            return Vec::new();
        }
        let planes: Vec<Vec<i8>> = queries.iter().map(|query| planes(query, bits)).collect();
        let planes: Vec<&[i8]> = planes.iter().map(Vec::as_slice).collect();
        let parts = self.pass(&planes, rows8::planes_for_bits(bits));
        let of_query = |(i, query): (usize, &&[u32])| {
            let rows = parts.iter().flat_map(|part| part.chunks_exact(part.len() / queries.len()).nth(i));
            centred(rows.flatten().take(self.rows), query, centre)
        };
        queries.iter().enumerate().map(of_query).collect()
    }

    /// The sums of some groups of rows after those of others, in each the sums of one query after those
    /// of another.
    fn pass(&self, planes: &[&[i8]], plane_count: usize) -> Vec<Vec<u32>> {
        let groups = self.rows.div_ceil(ROWS).div_ceil(4 * rayon::current_num_threads());
        let sums_of = |tiles: &[u8]| {
            let rows = tiles.len() / self.group_bytes() * ROWS;
            let mut sums = vec![0; planes.len() * rows];
            let mut outs: Vec<&mut [u32]> = sums.chunks_exact_mut(rows).collect();
            rows8::pass_many(tiles, self.quads(), planes, plane_count, &mut outs);
            sums
        };
        self.tiles.par_chunks(groups * self.group_bytes()).map(sums_of).collect()
    }
}

fn planes(values: &[u32], bits: u32) -> Vec<i8> {
    let mut planes = Vec::new();
    rows8::pack_planes(values, bits, rows8::planes_for_bits(bits), &mut planes);
    planes
}

/// Σ(w − centre)·x from Σw·x.
fn centred<'a>(sums: impl Iterator<Item = &'a u32>, query: &[u32], centre: u32) -> Vec<u32> {
    let total = query.iter().fold(0u32, |sum, &x| sum.wrapping_add(x));
    let centre = total.wrapping_mul(centre);
    sums.map(|sum| sum.wrapping_sub(centre)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;

    pub(in crate::double) fn example(rows: usize, columns: usize) -> ByteMatrix {
        ByteMatrix::from_columns(rows, columns, |column, out| {
            out.iter_mut().enumerate().take(rows).for_each(|(row, byte)| *byte = word(row, column));
            Ok(())
        })
        .unwrap()
    }

    pub(in crate::double) fn word(row: usize, column: usize) -> u8 {
        (row * 31 + column * 7 + row * column) as u8
    }

    #[test]
    fn bytes_are_where_they_are_said_to_be() {
        let matrix = example(70, 133);
        let mut found = vec![0; 133];
        for row in 0..70 {
            matrix.row(row, &mut found);
            for (column, &byte) in found.iter().enumerate() {
                assert_eq!(byte, word(row, column));
                assert_eq!(matrix.tiles()[matrix.position(row, column)], byte);
            }
        }
        assert_eq!(matrix.tiles().len() as u64, tile_bytes(70, 133));
        assert!(ByteMatrix::from_tiles(70, 137, matrix.tiles().clone(), "a matrix").is_err());
    }

    #[test]
    fn products_are_those_of_the_definition() {
        let matrix = example(70, 13);
        for bits in [8u32, 20, 24, 27, 32] {
            let mask = u32::MAX >> (32 - bits);
            let query = |i: u32| (0..13u32).map(|c| (c + i).wrapping_mul(0x9e37_79b9) & mask).collect();
            let queries: [Vec<u32>; 3] = [0, 1, 2].map(query);
            let found = matrix.products(&queries.each_ref().map(Vec::as_slice), bits, 64);
            for (query, found) in queries.iter().zip(&found) {
                assert_eq!(found.len(), 70);
                for (row, &sum) in found.iter().enumerate() {
                    let terms = query.iter().enumerate();
                    let expected = terms.fold(0u32, |sum, (column, x)| {
                        sum.wrapping_add((u32::from(word(row, column)).wrapping_sub(64)).wrapping_mul(*x))
                    });
                    assert_eq!((sum ^ expected) & mask, 0, "{bits} bits, row {row}");
                }
            }
        }
        assert!(matrix.products(&[], 32, 0).is_empty());
    }
}
