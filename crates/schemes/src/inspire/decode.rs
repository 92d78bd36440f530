//! The records back from the encoded matrix: evaluates each column's polynomial at its t points.

use papir_core::{RecordBuffer, Result, extract_bits};
use papir_kernels::monomial;
use papir_kernels::pointwise::Modulus;
use papir_kernels::rows16;
use papir_ring::prg::Seed;
use rayon::prelude::*;

use super::layout::{Layout, PLAINTEXT};
use super::masks::whitening;

/// Columns that are decoded together.
const BLOCK_COLUMNS: usize = 64;

/// All records of a matrix in row groups.
///
/// # Errors
/// None for a matrix that [`super::encode`] made.
pub fn decode(layout: &Layout, seed: &Seed, tiles: &[i16], exceptions: &[[u32; 2]]) -> Result<RecordBuffer> {
    let mut records = RecordBuffer::zeroed(layout.shape);
    let mut by_column: Vec<[u32; 2]> = exceptions.iter().map(|&[row, column]| [column, row]).collect();
    by_column.sort_unstable();
    let columns: Vec<usize> = (0..layout.columns).collect();
    for block in columns.chunks(BLOCK_COLUMNS) {
        let decode = |&column: &usize| decode_column(layout, seed, tiles, within(&by_column, column), column);
        let decoded: Vec<Vec<Vec<u8>>> = block.par_iter().map(decode).collect();
        for (element, bytes) in (block[0] * layout.points..).zip(decoded.iter().flatten()) {
            store_element(layout, element as u64, bytes, &mut records)?;
        }
    }
    Ok(records)
}

/// The (column, row) pairs of one column, of a sorted list.
fn within(by_column: &[[u32; 2]], column: usize) -> &[[u32; 2]] {
    let start = by_column.partition_point(|[c, _]| (*c as usize) < column);
    let end = by_column.partition_point(|[c, _]| (*c as usize) <= column);
    &by_column[start..end]
}

/// The bytes of a column's t elements, all chunks of each.
fn decode_column(
    layout: &Layout,
    seed: &Seed,
    tiles: &[i16],
    exceptions: &[[u32; 2]],
    column: usize,
) -> Vec<Vec<u8>> {
    let (t, d) = (layout.points, layout.degree);
    let mut coefficients = read_column(layout, tiles, column);
    for &[_, row] in exceptions {
        coefficients[row as usize] = PLAINTEXT / 2;
    }
    let mut elements = vec![Vec::new(); t];
    let mut scratch = vec![0; d];
    for (chunk, values) in coefficients.chunks_exact_mut(t * d).enumerate() {
        // y_k = h(ω^k) = Σ_j c_j·ω^{jk}; the transform leaves it at the bit-reversed place of k.
        monomial::dft_mod(values, d, Modulus::new(PLAINTEXT), &mut scratch);
        let mut stream = whitening(seed, chunk);
        stream.seek((column * t * layout.element_bytes()) as u64);
        for (k, element) in elements.iter_mut().enumerate() {
            let mut mask = vec![0; layout.element_bytes()];
            stream.fill(&mut mask);
            let words = &values[super::encode::reverse(k, t) * d..][..d];
            let bytes = words.iter().flat_map(|&word| (word as u16).to_le_bytes());
            element.extend(bytes.zip(mask).map(|(byte, mask)| byte ^ mask));
        }
    }
    elements
}

/// One column of the matrix as residues modulo p.
fn read_column(layout: &Layout, tiles: &[i16], column: usize) -> Vec<u32> {
    let tile_words = layout.pairs() * 2 * rows16::ROWS;
    let word = |row: usize| {
        let tile = &tiles[row / rows16::ROWS * tile_words..];
        let place = (column / 2 * rows16::ROWS + row % rows16::ROWS) * 2 + column % 2;
        i32::from(tile[place]).rem_euclid(PLAINTEXT as i32) as u32
    };
    (0..layout.rows()).map(word).collect()
}

fn store_element(layout: &Layout, element: u64, bytes: &[u8], records: &mut RecordBuffer) -> Result<()> {
    let first = element * layout.per_element;
    let count = layout.per_element.min(layout.shape.records().saturating_sub(first));
    (0..count).try_for_each(|i| {
        let record = extract_bits(bytes, i * layout.stored_bits, layout.shape.record_bits());
        records.set(first + i, &record)
    })
}
