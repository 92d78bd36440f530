//! Server of packed SimplePIR: `DBSetup`, `Answer` and updates.
//!
//! An update keeps the public seed and gives the same bytes as a setup of the changed records. A
//! changed record alters words of one column, and so the rows of the packs that hold these words.
//! These packs are prepared again, with masks from the whole matrix; the other packs are copied.
//! One changed record costs as much as thousands in the same packs, so changes should be batched.
//!
//! Since the seed stays, the whitening stream is known before the changes. The noise bound assumes
//! that changed records do not depend on it. A new setup draws a new seed.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{self, Parameters, Session, UpdateEstimate, check_changes};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Change, Progress, Records, Result};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;

use super::layout::pack_bytes;
use super::params::{DEGREE, Packed, Params};
use crate::shared::messages::load_seed;
use crate::shared::parameters::estimate;
use crate::shared::selection::{
    PackedMatrix, PackedVariant, SelectionAnswer, SelectionPublic, SelectionQuery,
};
use crate::shared::stored_records::{check_source, read_columns};
use crate::shared::units::{Placed, by_column, columns};

/// A prepared database: the matrix and its packs. A clone shares them.
#[derive(Clone)]
pub struct Server<V: PackedVariant> {
    params: Params<V>,
    public: SelectionPublic,
    matrix: PackedMatrix<V>,
}

impl<V: PackedVariant> scheme::Server<Packed<V>> for Server<V> {
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
        batch: Vec<(Session<'_, Packed<V>>, &SelectionQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<SelectionAnswer>> {
        let queries: Vec<&SelectionQuery> = batch.into_iter().map(|(_, query)| query).collect();

        self.matrix.answers(
            &queries,
            "select",
            // All words of a column are in packs, so no row is made online.
            || vec![Vec::new(); queries.len()],
            progress,
        )
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        let Params { layout, selection } = &self.params;
        estimate(&self.params, changes, |sizes| {
            // Each unit is read and written again.
            let words = layout.encoded(2 * columns(&self.by_unit(changes)).count());
            let encode = Counts::new().with(Operation::Encode16, words, 1);

            let stored = (sizes.database + sizes.material) as f64;
            let packs = self.touched_packs(changes);
            selection
                .count_packs(encode, packs)
                .with(Operation::Copy, stored, 1)
        })
    }

    fn update(
        &self,
        changes: &[Change],
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let layout = &self.params.layout;
        let seed = &self.public.seed;
        check_changes(&layout.shape(), changes)?;

        // Unit by unit: all changes of a unit are made while its bytes are not whitened.
        let mut tiles = AlignedBytes::copy_of(self.matrix.tiles());
        for changes in columns(&self.by_unit(changes)) {
            let unit = changes[0].column;
            let mut bytes = layout.read_unit(seed, tiles.bytes_mut(), unit);
            for placed in changes {
                layout.unit_layout.set(&mut bytes, placed.change)?;
            }
            layout.write_unit(seed, tiles.bytes_mut(), unit, bytes);
        }

        let matrix = self.matrix.replace(seed, tiles, progress)?;
        Ok(Self::of(self.params.clone(), *seed, matrix))
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let layout = &self.params.layout;
        let seed = &self.public.seed;
        read_columns(&layout.unit_layout, 1, (first, count), out, |unit| {
            layout.read_unit(seed, self.matrix.tiles(), unit)
        })
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(V::SIMPLE.seed, &[&self.public.seed.0])?;
        self.matrix.save(sink)
    }

    fn load(params: Params<V>, source: &dyn SectionSource) -> Result<Self> {
        let seed = load_seed(source, V::SIMPLE.seed)?;
        let matrix = PackedMatrix::load(&params.selection, &seed, source)?;
        Ok(Self::of(params, seed, matrix))
    }
}

impl<V: PackedVariant> Server<V> {
    fn of(params: Params<V>, seed: Seed, matrix: PackedMatrix<V>) -> Self {
        Self {
            params,
            public: matrix.public(seed),
            matrix,
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
        check_source(V::SIMPLE.name, params.shape(), records)?;

        let tiles = params.layout.encode(&seed, records, progress)?;
        let matrix = PackedMatrix::prepare(&params.selection, &seed, tiles, progress)?;
        Ok(Self::of(params, seed, matrix))
    }

    /// The matrix and its packs, for measuring noise.
    pub fn matrix(&self) -> &PackedMatrix<V> {
        &self.matrix
    }

    /// Sorts changes by unit.
    fn by_unit<'a>(&self, changes: &'a [Change]) -> Vec<Placed<'a>> {
        by_column(changes, |index| {
            self.params.layout.locate(index).unit as usize
        })
    }

    /// Returns the number of packs that hold words of changed records.
    fn touched_packs(&self, changes: &[Change]) -> usize {
        let layout = &self.params.layout;
        let pack_bits = 8 * pack_bytes(layout.storage, DEGREE) as u64;

        let mut touched = vec![false; layout.rows / DEGREE];
        for change in changes {
            // Packs have words of every column, so only the slot counts. A record may span packs.
            let start = layout.locate(change.index).slot * layout.unit_layout.stored_bits;
            let last = start + layout.unit_layout.stored_bits - 1;
            let [first, last] = [start, last].map(|bit| (bit / pack_bits) as usize);
            touched[first..=last].fill(true);
        }

        touched.into_iter().filter(|&touched| touched).count()
    }
}
