//! Matrices of 4-bit words, two in a byte, in the tiles of [`papir_kernels::matvec_u4`].

use papir_kernels::{Backend, matvec_u4, matvec_u8};
use rayon::prelude::*;

/// Rows of a group.
const ROWS: usize = matvec_u4::ROWS;
/// Rows of the bytes of a group: the rows of the low halves, then of the high halves.
const BYTE_ROWS: usize = matvec_u8::ROWS;
/// Columns that are interleaved in a tile.
const QUAD: usize = 4;
/// A stored word stands for itself less this.
const CENTRE: i16 = 8;
/// Widest selector that the pass supports: its sums are modulo 2³².
pub(super) const MAX_QUERY_BITS: u32 = matvec_u8::PLANE_BITS * matvec_u8::MAX_PLANES as u32;

/// Bytes of a matrix, padded to whole groups of 128 rows and whole quads of columns.
pub(super) const fn nibble_bytes(rows: usize, columns: usize) -> u64 {
    (rows.next_multiple_of(ROWS) / 2) as u64 * columns.next_multiple_of(QUAD) as u64
}

/// A borrowed matrix D of words from −8 to 7.
#[derive(Clone, Copy, Debug)]
pub struct NibbleMatrix<'a> {
    backend: Backend,
    columns: usize,
    tiles: &'a [u8],
}

impl<'a> NibbleMatrix<'a> {
    /// Creates a matrix of `columns` columns.
    ///
    /// # Panics
    /// If `tiles` is not whole row groups.
    pub fn new(columns: usize, tiles: &'a [u8]) -> Self {
        let group = nibble_bytes(1, columns) as usize;
        assert!(
            tiles.len().is_multiple_of(group),
            "{} bytes in groups of {group}",
            tiles.len()
        );
        Self {
            backend: Backend::current(),
            columns,
            tiles,
        }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    fn quads(&self) -> usize {
        self.columns.div_ceil(QUAD)
    }

    fn group_bytes(&self) -> usize {
        nibble_bytes(1, self.columns) as usize
    }

    /// Returns D·b for each selector b of `columns` values modulo 2^bits (at most 32): for each row
    /// a sum modulo 2^bits.
    ///
    /// All selectors share one pass over the matrix. No branch depends on them.
    pub fn select(&self, selectors: &[&[u64]], bits: u32) -> Vec<Vec<u64>> {
        let count = matvec_u8::planes_for_bits(bits);
        let planes: Vec<Vec<i8>> = selectors
            .par_iter()
            .map(|values| planes(values, bits, count))
            .collect();
        let planes: Vec<&[i8]> = planes.iter().map(Vec::as_slice).collect();

        let groups = self.tiles.len() / self.group_bytes();
        let share = groups.div_ceil(rayon::current_num_threads()).max(1);
        let shares = self.tiles.par_chunks(share * self.group_bytes());
        let parts: Vec<Vec<Vec<u32>>> = shares
            .map(|tiles| self.pass(tiles, &planes, count))
            .collect();

        selectors
            .iter()
            .enumerate()
            .map(|(i, selector)| {
                // Stored words are too large by their centre, once for each value of the selector.
                let sum = selector
                    .iter()
                    .fold(0u64, |sum, &value| sum.wrapping_add(value));
                let excess = sum.wrapping_mul(CENTRE as u64);
                let sums = parts.iter().flat_map(|part| &part[i]);
                sums.map(|&sum| u64::from(sum).wrapping_sub(excess) & ((1 << bits) - 1))
                    .collect()
            })
            .collect()
    }

    /// Sums of some groups for each query.
    fn pass(&self, tiles: &[u8], queries: &[&[i8]], plane_count: usize) -> Vec<Vec<u32>> {
        let rows = tiles.len() / self.group_bytes() * ROWS;
        let mut sums = vec![vec![0; rows]; queries.len()];

        match (queries, &mut sums[..]) {
            ([query], [sums]) => {
                matvec_u4::pass(self.backend, tiles, self.quads(), query, plane_count, sums);
            }
            (queries, sums) => {
                let mut outs: Vec<&mut [u32]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
                matvec_u4::pass_many(
                    self.backend,
                    tiles,
                    self.quads(),
                    queries,
                    plane_count,
                    &mut outs,
                );
            }
        }
        sums
    }

    /// Reads the words of 64 rows from `64·group` on, row by row, in columns from `first` on, a
    /// whole quad; `out` has 64 times the wanted number of columns. Columns beyond the last are
    /// zero.
    pub(super) fn read_rows(&self, group: usize, first: usize, out: &mut [i16]) {
        let width = out.len() / BYTE_ROWS;
        let columns = width.min(self.columns - first);
        let tile = &self.tiles[group / 2 * self.group_bytes()..][..self.group_bytes()];

        let mut bytes = vec![0; BYTE_ROWS * columns];
        matvec_u8::gather_rows(tile, first / QUAD, columns, &mut bytes);

        // 64 rows are half of a stored group: the low halves of its bytes come first, then the high
        // ones.
        let half = 4 * (group % 2);
        for (words, bytes) in out.chunks_exact_mut(width).zip(bytes.chunks_exact(columns)) {
            let (words, beyond) = words.split_at_mut(columns);
            words
                .iter_mut()
                .zip(bytes)
                .for_each(|(w, byte)| *w = i16::from(byte >> half & 15) - CENTRE);
            beyond.fill(0);
        }
    }
}

fn planes(values: &[u64], bits: u32, count: usize) -> Vec<i8> {
    let values: Vec<u32> = values.iter().map(|&value| value as u32).collect();
    let mut planes = Vec::new();
    matvec_u8::pack_planes(&values, bits, count, &mut planes);
    planes
}

/// Returns the bytes of a column: byte `64g + l` holds the words of rows `128g + l`, low half, and
/// `128g + 64 + l`.
pub(super) fn read_nibble_column(tiles: &[u8], columns: usize, column: usize) -> Vec<u8> {
    let groups = tiles.len() / nibble_bytes(1, columns) as usize;
    let mut bytes = vec![0; groups * BYTE_ROWS];
    matvec_u8::gather_column(tiles, groups, columns.div_ceil(QUAD), column, &mut bytes);
    bytes
}

/// Writes the bytes of adjacent columns from `first` on, a whole quad, in the order of
/// [`read_nibble_column`].
pub(super) fn write_nibble_columns(
    tiles: &mut [u8],
    columns: usize,
    first: usize,
    contents: &[Vec<u8>],
) {
    let group = nibble_bytes(1, columns) as usize;
    let quads = columns.div_ceil(QUAD);
    let padding = vec![0; tiles.len() / group * BYTE_ROWS];

    tiles
        .par_chunks_exact_mut(group)
        .enumerate()
        .for_each(|(g, tile)| {
            for (k, quad) in contents.chunks(QUAD).enumerate() {
                let columns = [0, 1, 2, 3]
                    .map(|h: usize| &quad.get(h).unwrap_or(&padding)[g * BYTE_ROWS..][..BYTE_ROWS]);
                matvec_u8::scatter_quad(tile, 1, quads, first / QUAD + k, columns);
            }
        });
}

/// Writes the bytes of one column.
pub(super) fn write_nibble_column(tiles: &mut [u8], columns: usize, column: usize, bytes: &[u8]) {
    let groups = tiles.len() / nibble_bytes(1, columns) as usize;
    matvec_u8::scatter_column(tiles, groups, columns.div_ceil(QUAD), column, bytes);
}

/// The bytes of words modulo 16 in the order of rows.
pub(super) fn nibble_bytes_of(words: &[u32]) -> Vec<u8> {
    // The final length: growing would leave copies of a client's decrypted bytes behind.
    let mut bytes = Vec::with_capacity(words.len() / 2);
    for group in words.chunks_exact(ROWS) {
        let (low, high) = group.split_at(BYTE_ROWS);
        let pairs = low.iter().zip(high);
        bytes.extend(pairs.map(|(&low, &high)| nibble_byte(low, high)));
    }
    bytes
}

/// Returns the byte of two words modulo 16.
fn nibble_byte(low: u32, high: u32) -> u8 {
    // Adding the centre 8 modulo 16 flips the highest of the four bits.
    ((low ^ 8) & 15 | ((high ^ 8) & 15) << 4) as u8
}
