//! Words of the second level: digits of the first level's hint and answers.

use papir_core::{AlignedBytes, Progress};
use papir_lattice::lwe32::N;
use papir_lattice::selection::{matrix_words, place, write_columns};
use rayon::prelude::*;

use super::literal::Variant;
use super::params::Params;
use crate::shared::digits::Digits;
use crate::shared::matrices::BLOCK_COLUMNS;

/// The digits of the hint D·A₁, rows × n words: a column for each unit; for each byte of it, for
/// each of n words, the digits from the lowest on.
pub(super) fn split_hint<V: Variant>(
    params: &Params<V>,
    hint: &[u32],
    progress: &dyn Progress,
) -> AlignedBytes {
    let (rows, columns) = (params.selection().matrix_rows(), params.layout().units);
    let mut tiles = AlignedBytes::zeroed(2 * matrix_words(rows, columns));
    progress.stage("digits", columns as u64);
    let unit_words = params.layout().unit_bytes * N;
    for (block, words) in hint.chunks(BLOCK_COLUMNS * unit_words).enumerate() {
        let split: Vec<_> = words.par_chunks(unit_words).map(|words| column(params, words)).collect();
        write_columns(tiles.slice_mut(), columns, block * BLOCK_COLUMNS, &split);
        progress.advance(split.len() as u64);
    }
    tiles
}

/// One column: of the B·n words of a unit, padding rows included.
fn column<V: Variant>(params: &Params<V>, words: &[u32]) -> Vec<i16> {
    let mut column = Vec::with_capacity(params.selection().matrix_rows());
    column.extend(words.iter().flat_map(|&word| split(params.digits().of_mask(), word)));
    column.resize(params.selection().matrix_rows(), 0);
    column
}

/// Overwrites the column of a unit.
pub(super) fn replace_column<V: Variant>(params: &Params<V>, tiles: &mut [i16], unit: usize, words: &[u32]) {
    let columns = params.layout().units;
    for (row, digit) in column(params, words).into_iter().enumerate() {
        tiles[place(columns, row, unit)] = digit;
    }
}

/// The digits of a first answer, a word for each row of D: a row for each byte of a unit and each
/// digit, with a word for each unit.
pub(super) fn split_answer<V: Variant>(params: &Params<V>, answer: &[u32]) -> Vec<i16> {
    let (units, bytes) = (params.layout().units, params.layout().unit_bytes);
    let digits = params.digits().of_body();
    let mut rows = vec![0; params.selection().selection().singles * units];
    for (place, &word) in answer.iter().enumerate() {
        let (unit, byte) = (place / bytes, place % bytes);
        for (k, digit) in split(digits, word).enumerate() {
            rows[(byte * digits.count + k) * units + unit] = digit;
        }
    }
    rows
}

/// Centred digits of the leading bits of a word.
pub(super) fn split(digits: Digits, word: u32) -> impl Iterator<Item = i16> {
    digits.split_centred(digits.leading(word))
}
