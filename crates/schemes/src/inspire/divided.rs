//! SETUP of InsPIRe by many tasks.
//!
//! First, tasks encode columns. Then other tasks prepare packs.
//!
//! An encoding has the words of a range of columns, pack after pack, each with d words of every
//! column; the exceptions of these words follow. So a task that prepares packs reads one range of
//! each encoding.

use std::ops::Range;

use papir_core::scratch::{InMemory, Piece};
use papir_core::{AlignedBytes, Blob, Error, Progress, Records, Result, parallel};
use papir_lattice::selection::{WordMatrix, write_columns};
use papir_ring::prg::Seed;

use super::encode::encode_blocks;
use super::layout::Layout;
use super::params::Params;
use super::prepared::{Sections, check_exceptions, part_name};
use crate::shared::matrices::{BLOCK_COLUMNS, RowMasks};
use crate::shared::packs::PreparedPacks;

/// Row and column of a word that represents +32768.
type Exception = [u32; 2];

/// Divides the columns among tasks, in whole blocks of [`BLOCK_COLUMNS`]. If there are fewer blocks
/// than tasks, each block has its own range.
pub(super) fn column_ranges(layout: &Layout, tasks: usize) -> Vec<Range<usize>> {
    let blocks = layout.columns.div_ceil(BLOCK_COLUMNS);
    let tasks = tasks.clamp(1, blocks);
    // Starts are rounded down, so the ranges differ by at most one block.
    let start = |task: usize| layout.columns.min(task * blocks / tasks * BLOCK_COLUMNS);
    (0..tasks)
        .map(|task| start(task)..start(task + 1))
        .collect()
}

/// Runs ENCODEDB of Algorithm 7 for a range of columns.
pub(super) fn encode(
    layout: &Layout,
    seed: &Seed,
    columns: Range<usize>,
    records: &dyn Records,
    progress: &dyn Progress,
) -> Result<AlignedBytes> {
    let degree = layout.degree;
    let count = columns.len();
    let mut words = vec![0i16; layout.rows() * count];

    let exceptions = encode_blocks(
        layout,
        seed,
        columns.clone(),
        records,
        progress,
        |first, block| {
            let packs = words.chunks_exact_mut(count * degree).enumerate();
            parallel::for_each(packs, |(pack, out)| {
                let outs = out[(first - columns.start) * degree..].chunks_mut(degree);
                for (column, out) in block.iter().zip(outs) {
                    out.copy_from_slice(&column[pack * degree..][..degree]);
                }
            });
        },
    )?;

    let words: &[u8] = bytemuck::cast_slice(&words);
    let exceptions: &[u8] = bytemuck::cast_slice(&exceptions);
    let mut all = AlignedBytes::zeroed(words.len() + exceptions.len());
    let (of_words, of_exceptions) = all.bytes_mut().split_at_mut(words.len());
    of_words.copy_from_slice(words);
    of_exceptions.copy_from_slice(exceptions);
    Ok(all)
}

/// The encoding of a range of columns.
struct Encoding<'a> {
    columns: Range<usize>,
    words: &'a [i16],
    exceptions: &'a [Exception],
}

impl<'a> Encoding<'a> {
    /// The parts of an encoding; an error if the words are incomplete, or if an exception is
    /// incomplete, out of order, or in a column of another task.
    fn new(layout: &Layout, columns: Range<usize>, bytes: &'a [u8]) -> Result<Self> {
        let words = 2 * layout.rows() * columns.len();
        let whole =
            bytes.len() >= words && (bytes.len() - words).is_multiple_of(size_of::<Exception>());
        if !whole {
            return Err(Error::Length {
                what: "the encoding of some columns",
                found: bytes.len() as u64,
                expected: words as u64,
            });
        }

        let (words, exceptions) = bytes.split_at(words);
        let exceptions = bytemuck::cast_slice(exceptions);
        // Another machine made them. Columns of two tasks do not overlap, so the exceptions of all
        // tasks together have each place once, too.
        check_exceptions(layout, &columns, exceptions)?;

        Ok(Self {
            columns,
            words: bytemuck::cast_slice(words),
            exceptions,
        })
    }

    /// Writes the words of these packs to a matrix that has only their rows.
    fn write(&self, layout: &Layout, packs: &Range<usize>, tiles: &mut [i16]) {
        let degree = layout.degree;
        let count = self.columns.len();
        for first in (0..count).step_by(BLOCK_COLUMNS) {
            let block = first..count.min(first + BLOCK_COLUMNS);
            let columns: Vec<Vec<i16>> = parallel::map(block, |index| {
                packs
                    .clone()
                    .flat_map(|pack| &self.words[(pack * count + index) * degree..][..degree])
                    .copied()
                    .collect()
            });
            write_columns(tiles, layout.columns, self.columns.start + first, &columns);
        }
    }
}

/// Runs lines 7 and 8 of Algorithm 9 and the offline part of Algorithm 1 for a range of packs, from
/// the encodings of all columns.
pub(super) fn prepare(
    sections: &Sections,
    params: &Params,
    seed: &Seed,
    packs: Range<usize>,
    encoded: &[Blob],
    progress: &dyn Progress,
) -> Result<Vec<Piece>> {
    let layout = params.layout();
    let all = encodings(layout, encoded)?;

    // A pack has d rows, whole row groups, so the matrix of all packs divides evenly.
    let mut tiles =
        AlignedBytes::zeroed(layout.matrix_bytes() as usize / layout.packs() * packs.len());
    for one in &all {
        one.write(layout, &packs, tiles.slice_mut());
    }

    let rows = (packs.start * layout.degree) as u32..(packs.end * layout.degree) as u32;
    let exceptions = exceptions_in(&all, &rows);
    // Rows of the matrix here count from these packs, rows of the kept exceptions from the first.
    let here: Vec<Exception> = exceptions
        .iter()
        .map(|[row, column]| [row - rows.start, *column])
        .collect();

    progress.stage("pack", packs.len() as u64);
    let masks = RowMasks {
        ring: params.rlwe().ring(),
        matrix: WordMatrix::new(layout.columns, tiles.slice_mut())
            .with_exceptions(&here)
            .into(),
        masks: params.selector().masks(seed, layout.degree),
        rows: layout.degree,
        progress,
    };
    let packing = params.packing(seed)?;
    let prepared = PreparedPacks::prepare(
        sections.packs,
        &packing,
        packs.len(),
        |pack| masks.of_pack(pack),
        &mut InMemory,
        progress,
    )?;

    let exceptions = Blob::copy_of(bytemuck::cast_slice(&exceptions));
    let mut pieces = Vec::from(prepared.into_pieces());
    pieces.push(Piece {
        part: part_name(sections, 0),
        bytes: exceptions,
    });
    pieces.push(Piece {
        part: sections.database.to_owned(),
        bytes: tiles.into(),
    });
    Ok(pieces)
}

/// Returns the exceptions in a range of rows, sorted.
fn exceptions_in(all: &[Encoding<'_>], rows: &Range<u32>) -> Vec<Exception> {
    let mut exceptions: Vec<Exception> =
        all.iter().flat_map(|one| one.exceptions).copied().collect();
    exceptions.retain(|[row, _]| rows.contains(row));
    exceptions.sort_unstable();
    exceptions
}

/// Returns the encodings of all columns, one for each of the tasks' ranges.
fn encodings<'a>(layout: &Layout, encoded: &'a [Blob]) -> Result<Vec<Encoding<'a>>> {
    let ranges = column_ranges(layout, encoded.len());
    Error::check_length("the encodings of all columns", encoded.len(), ranges.len())?;
    ranges
        .into_iter()
        .zip(encoded)
        .map(|(columns, bytes)| Encoding::new(layout, columns, bytes))
        .collect()
}
