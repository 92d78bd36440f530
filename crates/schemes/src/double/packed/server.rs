//! The server of a packed DoublePIR: `DBSetup`, `Answer` and updates.
//!
//! An update keeps the public seed and gives the same bytes as a setup of the changed records. It
//! writes the new bytes to D. For each changed row of D it computes the row of D·A₁ and its digits.
//! Then it prepares the packs of each byte of a unit that changed in any record; with random
//! records these are all packs. One changed record costs as much as thousands of them, so changes
//! should be batched.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{self, Parameters, Session, UpdateEstimate};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Change, Progress, Records, Result, parallel};
use papir_lattice::lwe32::N;
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::selection::{matrix_bytes, place};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;

use super::client::Query;
use super::literal::PackedDouble;
use super::params::Params;
use crate::double::levels::FirstLevel;
use crate::shared::byte_matrix::load_matrix;
use crate::shared::digits::Digits;
use crate::shared::matrices::encode_columns;
use crate::shared::messages::load_seed;
use crate::shared::parameters::estimate;
use crate::shared::selection::{
    PackedMatrix, PackedVariant, SelectionAnswer, SelectionPublic, SelectionQuery,
};
use crate::shared::stored_records::check_source;

const SEED: &str = "double/seed";
const DATABASE: &str = "double/database";

/// Both levels and the public part. A clone shares the matrices.
#[derive(Clone)]
pub struct Server<V: PackedVariant> {
    pub(super) params: Params<V>,
    pub(super) public: SelectionPublic,
    pub(super) first: FirstLevel,
    pub(super) second: PackedMatrix<V>,
}

impl<V: PackedVariant> scheme::Server<PackedDouble<V>> for Server<V> {
    fn setup(
        params: Params<V>,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::prepare(params, Seed::random(rng), records, progress)
    }

    fn params(&self) -> &Params<V> {
        &self.params
    }

    fn public(&self) -> &SelectionPublic {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, PackedDouble<V>>, &Query)>,
        progress: &dyn Progress,
    ) -> Result<Vec<SelectionAnswer>> {
        let queries: Vec<&Query> = batch.into_iter().map(|(_, query)| query).collect();

        progress.stage("first_level", queries.len() as u64);
        let firsts = self.first_level(&queries);

        let seconds: Vec<&SelectionQuery> = queries.iter().map(|query| &query.second).collect();
        self.second.answers(
            &seconds,
            "second_level",
            || parallel::map(&firsts, |first| split_answer(&self.params, first)),
            progress,
        )
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        let Params {
            layout, selection, ..
        } = &self.params;

        estimate(&self.params, changes, |sizes| {
            let rows = layout.changed_units(changes) * layout.unit_layout.unit_bytes;
            let bytes = transformed_bytes(rows, layout.columns) as f64;
            let hint = Counts::new().with(Operation::HintProduct8, bytes, rows);
            let stored = (sizes.database + sizes.material) as f64;
            // A unit is a column of the second matrix: it has words in the rows of every pack.
            selection.count_setup(hint).with(Operation::Copy, stored, 1)
        })
    }

    fn update(
        &self,
        changes: &[Change],
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let Params { layout, lwe, .. } = &self.params;
        let Some((first, units)) = self.first.change(layout, changes)? else {
            return Ok(self.clone());
        };

        progress.stage("update", units.len() as u64);
        let hint = first.hint_rows(lwe, layout, &units);
        let unit_hints = hint.chunks_exact(layout.unit_layout.unit_bytes * N);

        // A copy: the old version still answers from its matrix.
        let mut tiles = AlignedBytes::copy_of(self.second.tiles());
        let words = tiles.slice_mut();
        for (&unit, hint) in units.iter().zip(unit_hints) {
            for (row, digit) in column(&self.params, hint).into_iter().enumerate() {
                words[place(layout.units, row, unit)] = digit;
            }
            progress.advance(1);
        }

        let second = self.second.replace(&self.public.seed, tiles, progress)?;
        Ok(Self::of(
            self.params.clone(),
            self.public.seed,
            first,
            second,
        ))
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.params
            .layout
            .read_packed(&self.first.database, (first, count), out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(SEED, &[&self.public.seed.0])?;
        sink.put(DATABASE, &[self.first.database.tiles()])?;
        self.second.save(sink)
    }

    fn load(params: Params<V>, source: &dyn SectionSource) -> Result<Self> {
        let seed = load_seed(source, SEED)?;
        let layout = &params.layout;
        let first = FirstLevel::new(
            seed,
            load_matrix(source, DATABASE, layout.rows, layout.columns)?,
        );

        let second = PackedMatrix::load(&params.selection, &seed, source)?;
        Ok(Self::of(params, seed, first, second))
    }
}

impl<V: PackedVariant> Server<V> {
    fn of(params: Params<V>, seed: Seed, first: FirstLevel, second: PackedMatrix<V>) -> Self {
        Self {
            params,
            public: second.public(seed),
            first,
            second,
        }
    }

    /// Prepares a database under the given public seed.
    ///
    /// # Errors
    /// The errors of the source, and [`papir_core::Error::Parameters`] for a source of another
    /// shape.
    pub fn prepare(
        params: Params<V>,
        seed: Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(V::DOUBLE.name, params.shape(), records)?;

        let first = FirstLevel::new(seed, params.layout.encode(records, progress)?);
        let tiles = split_hint(
            &params,
            first.hint(&params.lwe, progress).slice_mut(),
            progress,
        )?;

        let second = PackedMatrix::prepare(&params.selection, &seed, tiles, progress)?;
        Ok(Self::of(params, seed, first, second))
    }

    /// Computes the first level: D times each query modulo 2³², in one pass over the database. The
    /// word of byte b of unit u of a column is at B·u + b.
    pub(super) fn first_level(&self, queries: &[&Query]) -> Vec<Vec<u32>> {
        let values: Vec<&[u32]> = queries.iter().map(|query| query.first.as_slice()).collect();
        self.first.answers(&values, self.params.literal.first_bits)
    }

    /// The second level: the digits of the hint, a row for each digit of each word of a unit's
    /// rows, and of the first answers, which are made online.
    pub fn second(&self) -> &PackedMatrix<V> {
        &self.second
    }
}

/// The digits of the hint D·A₁, rows × n words: a column for each unit; for each byte of it, for
/// each of n words, the digits from the lowest on.
fn split_hint<V: PackedVariant>(
    params: &Params<V>,
    hint: &[u32],
    progress: &dyn Progress,
) -> Result<AlignedBytes> {
    let units = params.layout.units;
    let words = params.layout.unit_layout.unit_bytes * N;

    progress.stage("digits", units as u64);
    let mut tiles =
        AlignedBytes::zeroed(matrix_bytes(params.selection.matrix_rows(), units) as usize);
    encode_columns(&mut tiles, units, progress, |unit| {
        Ok(column(params, &hint[unit * words..][..words]))
    })?;

    Ok(tiles)
}

/// One column: the digits of the B·n words of a unit, padding rows included.
fn column<V: PackedVariant>(params: &Params<V>, words: &[u32]) -> Vec<i16> {
    let digits = params.literal.digits.of_mask();
    let mut column = Vec::with_capacity(params.selection.matrix_rows());
    column.extend(words.iter().flat_map(|&word| split(digits, word)));
    column.resize(params.selection.matrix_rows(), 0);
    column
}

/// The digits of a first answer, a word for each row of D: a row for each byte of a unit and each
/// digit, with a word for each unit.
pub(super) fn split_answer<V: PackedVariant>(params: &Params<V>, answer: &[u32]) -> Vec<i16> {
    let units = params.layout.units;
    let bytes = params.layout.unit_layout.unit_bytes;
    let digits = params.literal.digits.of_body();

    // Row by row, with a column for each unit, as the selection multiplies them.
    let mut rows = vec![0; params.selection.counts.singles * units];
    for (place, &word) in answer.iter().enumerate() {
        let unit = place / bytes;
        let byte = place % bytes;
        for (k, digit) in split(digits, word).enumerate() {
            rows[(byte * digits.count + k) * units + unit] = digit;
        }
    }
    rows
}

/// Splits the leading bits of a word into centred digits.
fn split(digits: Digits, word: u32) -> impl Iterator<Item = i16> {
    digits.split_centred(digits.leading(word))
}
