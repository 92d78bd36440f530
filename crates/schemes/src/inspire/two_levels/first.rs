//! First level (Algorithm 5, lines 7 and 8), on one machine or several.

use std::ops::Range;

use papir_core::device::{Device, TileShape, Words};
use papir_core::scheme::{Combiner, DividedScheme, Shard};
use papir_core::sections::SectionSource;
use papir_core::{BlobSlice, DividedDescription, Division, Progress, Result, parallel};
use papir_kernels::{matvec_i16, matvec_i32};
use papir_lattice::packing::inspiring::matrix::slots;
use papir_lattice::packing::inspiring::{OnlineKey as Expanded, PartialInspiring, multiply};
use papir_lattice::packing::{Bodies, OnlineKey, Packing};
use papir_lattice::selection::{group_rows, matrix_bytes};
use papir_ring::CyclotomicRing;

use super::literal::{Inspire2, NAME};
use super::packings::{LevelMatrix, Packings, SEED};
use super::params::Params;
use super::second::SecondLevel;
use super::wire::Query;
use crate::shared::device_copy::DeviceCopy;
use crate::shared::messages::load_seed;
use crate::shared::packs::{load_words, matrix_columns, ranged};
use crate::shared::parameters::refused;

/// Section of D.
pub(super) const DATABASE: &str = "inspire2/database";
/// Section of the packing matrices.
pub(super) const MATRICES: &str = "inspire2/matrices";

/// A range of units in all columns, and their packing matrices. A clone shares them.
#[derive(Clone)]
pub(super) struct First {
    /// Number of units in the range.
    pub(super) units: usize,
    /// Rows of the units in D: 16-bit words in row groups.
    pub(super) tiles: BlobSlice<i16>,
    /// Packing matrices of the units.
    pub(super) matrices: BlobSlice<i32>,
    /// Rows and packing matrices in the memory of a device.
    pub(super) held: [DeviceCopy; 2],
}

impl First {
    /// Reads a range of units, which must be whole slices.
    pub(super) fn load(
        params: &Params,
        packing: &Packing<PartialInspiring>,
        units: Range<usize>,
        source: &dyn SectionSource,
    ) -> Result<Self> {
        let layout = params.layout();
        // Units are loaded in whole slices, which start on row groups: the rows of all of them are
        // one range of the section.
        let bytes = |unit: usize| matrix_bytes(unit * layout.unit_words, layout.columns) as usize;
        let rows = bytes(units.start)..bytes(units.end);
        Ok(Self {
            units: units.len(),
            tiles: ranged(source, DATABASE, rows, layout.matrix_bytes() as usize)?,
            matrices: load_words(packing, MATRICES, (units, layout.blocks), source)?,
            held: Default::default(),
        })
    }

    /// Returns the same units, with copies of the matrices on a device.
    pub(super) fn on_device(
        &self,
        params: &Params,
        packing: &Packing<PartialInspiring>,
        device: &dyn Device,
    ) -> Result<Self> {
        let rows = DeviceCopy::on(
            device,
            Words::Signed16,
            params.layout().columns,
            self.tiles.bytes(),
        )?;

        let matrices = DeviceCopy::on(
            device,
            Words::Signed32,
            matrix_columns(packing),
            self.matrices.bytes(),
        )?;
        Ok(Self {
            held: [rows, matrices],
            ..self.clone()
        })
    }

    /// Returns the shapes of the matrices of a whole database that a device holds.
    pub(super) fn device_matrices(params: &Params) -> Vec<TileShape> {
        let layout = params.layout();
        let gamma = params.literal().gammas[0];
        let degree = params.rlwe().ring().degree();

        let selected = TileShape {
            words: Words::Signed16,
            rows: group_rows(layout.blocks * layout.unit_words),
            columns: layout.columns,
        };

        // If γ is below a row group, several packs fill one, and the last group may have room
        // left.
        let packing = TileShape {
            words: Words::Signed32,
            rows: layout.blocks.div_ceil(slots(gamma)) * slots(gamma) * gamma,
            columns: params.gadget().levels() * degree,
        };
        vec![selected, packing]
    }

    /// Computes line 7, b′₀ = D·b₀: the bodies of these units modulo q, in one pass over their
    /// rows.
    pub(super) fn select(&self, params: &Params, queries: &[&Query]) -> Vec<Bodies> {
        let matrix = LevelMatrix {
            level: 0,
            tiles: &self.tiles,
            held: &self.held[0],
            gamma: params.layout().unit_words,
            packs: self.units,
        };
        matrix.select(params, queries)
    }

    /// Computes line 8: the packed bodies of these units.
    pub(super) fn pack(
        &self,
        packing: &Packing<PartialInspiring>,
        bodies: Vec<Bodies>,
        keys: &[&OnlineKey<Expanded>],
    ) -> Result<Vec<Bodies>> {
        packing
            .pack_bodies_by(
                |vectors, bits| self.pack_products(vectors, bits),
                &[],
                bodies,
                keys,
            )
            .map_err(refused(NAME))
    }

    /// Multiplies the packing matrices by vectors, on the device that holds them if there is one.
    fn pack_products(&self, vectors: &[&[u64]], bits: u32) -> Vec<Vec<u64>> {
        self.held[1]
            .products(vectors, bits)
            .unwrap_or_else(|| multiply(&self.matrices, vectors, bits))
    }
}

/// Returns the number of units in a slice.
fn slice_units(unit_words: usize) -> usize {
    // Both numbers are powers of two. A unit as long as a row group is a slice of its own.
    (matvec_i16::ROWS.max(matvec_i32::ROWS) / unit_words).max(1)
}

/// Division of a database's first level among several machines. A slice has the units that fill the
/// row groups of D and of the packing matrices; its words are their packed bodies modulo q.
pub(super) struct Inspire2Slices;

impl DividedScheme<Inspire2> for Inspire2Slices {
    fn describe(&self, params: &Params) -> DividedDescription {
        let unit_words = params.layout().unit_words;
        let division = Division {
            words: params.layout().blocks * unit_words,
            slice_words: slice_units(unit_words) * unit_words,
            word_bits: params.rlwe().ring().modulus_bits(),
        };
        DividedDescription {
            division,
            work: params.answering(),
        }
    }

    fn load_shard(
        &self,
        params: Params,
        slices: Range<usize>,
        source: &dyn SectionSource,
    ) -> Result<Box<dyn Shard<Inspire2>>> {
        let words = self.describe(&params).division.words_of(&slices)?;
        let packings = Packings::new(&params, &load_seed(source, SEED)?)?;

        let unit_words = params.layout().unit_words;
        let units = words.start / unit_words..words.end / unit_words;
        let first = First::load(&params, packings.packing(0), units, source)?;
        Ok(Box::new(Inspire2Shard {
            params,
            packings,
            first,
        }))
    }

    fn load_combiner(
        &self,
        params: Params,
        source: &dyn SectionSource,
    ) -> Result<Box<dyn Combiner<Inspire2>>> {
        Ok(Box::new(SecondLevel::load(params, source)?))
    }
}

/// A machine's range of the first level.
struct Inspire2Shard {
    params: Params,
    packings: Packings,
    first: First,
}

impl Shard<Inspire2> for Inspire2Shard {
    fn partial_many(&self, queries: &[&Query], progress: &dyn Progress) -> Result<Vec<Vec<u64>>> {
        let params = &self.params;
        let count = queries.len() as u64;

        progress.stage("read_keys", count);
        // Keys come first: one that does not fit is refused before the pass over the rows.
        let role = self.packings.role(0);
        let keys = parallel::try_map(queries, |query| self.packings.key(params, query, role))?;
        let keys: Vec<_> = keys.iter().collect();

        progress.stage("select", count);
        let bodies = self.first.select(params, queries);

        progress.stage("pack_first", count);
        let packed = self.first.pack(self.packings.packing(0), bodies, &keys)?;
        Ok(parallel::map(&packed, |bodies| {
            bodies.to_words(params.rlwe().ring())
        }))
    }
}
