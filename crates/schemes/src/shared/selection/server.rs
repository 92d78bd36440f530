//! The server of a packed selection.

use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, BlobSlice, Error, Progress, Result};
use papir_kernels::matvec_i16::ROWS;
use papir_lattice::mod_switch::{PowerSwitch, lift_elements};
use papir_lattice::packing::{Bodies, KeyBodies, LweMasks, OnlineKey, RingPacking};
use papir_lattice::selection::{SelectorMasks, WordMatrix, matrix_words};
use papir_ring::prg::Seed;
use papir_ring::{Coefficients, Poly};
use rayon::prelude::*;

use super::family::Family;
use super::params::SelectionParams;
use super::wire::{SelectionAnswer, SelectionQuery};
use crate::shared::packs::{Names, PreparedPacks};

const MATRIX: &str = "selection/matrix";

/// A matrix of words and its packs. A clone shares them.
#[derive(Clone)]
pub struct PackedMatrix<F: Family> {
    tiles: BlobSlice<i16>,
    packing: F::Packing,
    packs: PreparedPacks<F::Packing>,
    /// The packs' masks as every answer carries them.
    masks: Vec<u64>,
    /// Of the selector, for single rows; none where there are no such rows.
    singles: Option<SelectorMasks>,
}

/// A client's packing key, expanded.
pub type Key<F> = OnlineKey<<<F as Family>::Packing as RingPacking>::Expanded>;

/// What a selector selects: LWE encryptions of the rows, and an RLWE encryption for each single row.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The bodies of the LWE encryptions, in packs; of the packed encryptions after packing.
    pub bodies: Bodies,
    /// The masks of the single rows.
    pub single_masks: Vec<Poly<Coefficients>>,
    /// Coefficient 0 of the single rows' bodies, modulo q.
    pub single_bodies: Vec<u64>,
}

fn names(scheme: &'static str) -> Names {
    Names { scheme, words: "selection/words", packs: "selection/packs" }
}

impl<F: Family> PackedMatrix<F> {
    /// Prepares the packs of a matrix under a public seed.
    ///
    /// # Errors
    /// [`Error::Length`] for tiles of another matrix, and those of the packing, which random masks do not
    /// cause.
    pub fn prepare(
        params: &SelectionParams<F>,
        seed: &Seed,
        tiles: AlignedBytes,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let tiles = checked_tiles(params, BlobSlice::new(tiles.into(), MATRIX)?)?;
        let packing = params.packing(seed)?;
        let count = params.selection().packs();
        progress.stage("pack", count as u64);
        let masks = PackMasks::new(params, seed, &tiles, progress);
        let of_pack = |pack| masks.of_pack(pack);
        let packs = PreparedPacks::prepare(names(params.scheme()), &packing, count, of_pack)?;
        Ok(Self::assemble(params, seed, tiles, packing, packs))
    }

    /// The same with another matrix, under the same seed: the packs whose rows differ are prepared again,
    /// the others taken over. Byte for byte what [`PackedMatrix::prepare`] gives.
    ///
    /// # Errors
    /// As [`PackedMatrix::prepare`].
    pub fn replace(
        &self,
        params: &SelectionParams<F>,
        seed: &Seed,
        tiles: AlignedBytes,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let tiles = checked_tiles(params, BlobSlice::new(tiles.into(), MATRIX)?)?;
        let touched = touched_packs(params, &self.tiles, &tiles);
        let count = touched.iter().filter(|&&touched| touched).count();
        if count == 0 {
            return Ok(self.clone());
        }
        progress.stage("pack", count as u64);
        let masks = PackMasks::new(params, seed, &tiles, progress);
        let packs = self.packs.refresh(&self.packing, |pack| touched[pack], |pack| masks.of_pack(pack))?;
        Ok(Self::assemble(params, seed, tiles, self.packing.clone(), packs))
    }

    fn assemble(
        params: &SelectionParams<F>,
        seed: &Seed,
        tiles: BlobSlice<i16>,
        packing: F::Packing,
        packs: PreparedPacks<F::Packing>,
    ) -> Self {
        let (ring, bits) = (params.rlwe().ring(), params.bits().answer);
        let masks = packs.packs.iter().flat_map(|pack| bits.mask(ring, &pack.a)).collect();
        let singles = (params.selection().singles > 0).then(|| params.selector_masks(seed, 1));
        Self { tiles, packing, packs, masks, singles }
    }

    /// The words of the matrix in row groups.
    pub fn tiles(&self) -> &BlobSlice<i16> {
        &self.tiles
    }

    /// The mask of a pack, modulo q.
    pub fn mask(&self, pack: usize) -> &Poly<Coefficients> {
        &self.packs.packs[pack].a
    }

    /// The packing key of a query, lifted to q.
    ///
    /// # Errors
    /// [`Error::Parameters`] for a key of another packing; none for a query of these parameters.
    pub fn read_key(&self, params: &SelectionParams<F>, query: &SelectionQuery) -> Result<Key<F>> {
        let elements = lift_elements(params.rlwe().ring(), params.bits().key, &query.keys);
        let key = KeyBodies::new(self.packing.shape(), elements);
        let key = key.and_then(|key| self.packing.online_key(&key));
        key.map_err(|error| names(params.scheme()).refused(error))
    }

    /// The selected rows for each query, in one read of the matrix, and the single rows: for each query
    /// their words, row by row.
    ///
    /// # Panics
    /// When there are not as many `singles` as queries, or they are not whole rows.
    pub fn select(
        &self,
        params: &SelectionParams<F>,
        queries: &[&SelectionQuery],
        singles: &[Vec<i16>],
    ) -> Vec<Selected> {
        assert_eq!(queries.len(), singles.len(), "single rows for each query");
        let selectors: Vec<&[u64]> = queries.iter().map(|query| query.selector.as_slice()).collect();
        let (ring, bits, selection) = (params.rlwe().ring(), params.bits().query, params.selection());
        let sums = match selectors[..] {
            [] => Vec::new(),
            _ => matrix(params, &self.tiles).select(&selectors, bits),
        };
        let selected = sums.into_par_iter().zip(&selectors).zip(singles).map(|((sums, selector), words)| {
            let bodies = Bodies::from_sums(ring, selection.capacity, selection.packs(), &sums, bits);
            let single_masks = self.single_masks(params, words);
            Selected { bodies, single_masks, single_bodies: single_bodies(params, words, selector) }
        });
        selected.collect()
    }

    fn single_masks(&self, params: &SelectionParams<F>, words: &[i16]) -> Vec<Poly<Coefficients>> {
        let (ring, columns) = (params.rlwe().ring(), params.selection().columns);
        let masks = self.singles.iter().map(|masks| masks.of_single_words(ring, words, columns));
        masks.flatten().collect()
    }

    /// Packs what was selected, in one read of the packs' words.
    ///
    /// # Errors
    /// As [`PackedMatrix::read_key`].
    pub fn pack(&self, selected: Vec<Selected>, keys: &[&Key<F>]) -> Result<Vec<Selected>> {
        if selected.is_empty() {
            return Ok(selected);
        }
        let (bodies, singles): (Vec<_>, Vec<_>) =
            selected.into_iter().map(|one| (one.bodies, (one.single_masks, one.single_bodies))).unzip();
        let packed = self.packs.pack(&self.packing, bodies, keys)?.into_iter().zip(singles);
        let join = |(bodies, (single_masks, single_bodies))| Selected { bodies, single_masks, single_bodies };
        Ok(packed.map(join).collect())
    }

    /// Switches packed encryptions to the few bits that an answer carries.
    pub fn round(&self, params: &SelectionParams<F>, packed: &Selected) -> SelectionAnswer {
        let (ring, bits) = (params.rlwe().ring(), params.bits().answer);
        let mut masks = self.masks.clone();
        masks.extend(packed.single_masks.iter().flat_map(|mask| bits.mask(ring, mask)));
        let words = packed.bodies.to_words(ring);
        let mut bodies = bits.body(ring, &words[..params.selection().rows]);
        bodies.extend(bits.body(ring, &packed.single_bodies));
        SelectionAnswer { masks, bodies }
    }

    /// Writes all sections.
    ///
    /// # Errors
    /// The sink's.
    pub fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(MATRIX, &[self.tiles.bytes()])?;
        self.packs.save(sink)
    }

    /// Reads what [`PackedMatrix::save`] wrote.
    ///
    /// # Errors
    /// [`Error::MissingSection`], [`Error::Length`] or [`Error::Malformed`].
    pub fn load(params: &SelectionParams<F>, seed: &Seed, source: &dyn SectionSource) -> Result<Self> {
        let tiles = source.get(MATRIX)?;
        Error::check_length(MATRIX, tiles.len(), params.matrix_bytes())?;
        let tiles = BlobSlice::new(tiles, MATRIX)?;
        let packing = params.packing(seed)?;
        let packs = params.selection().packs();
        let packs = PreparedPacks::load(names(params.scheme()), &packing, packs, source)?;
        Ok(Self::assemble(params, seed, tiles, packing, packs))
    }
}

fn checked_tiles<F: Family>(params: &SelectionParams<F>, tiles: BlobSlice<i16>) -> Result<BlobSlice<i16>> {
    Error::check_length(MATRIX, tiles.bytes().len(), params.matrix_bytes())?;
    Ok(tiles)
}

/// The masks of each pack's LWE encryptions.
struct PackMasks<'a, F> {
    params: &'a SelectionParams<F>,
    matrix: WordMatrix<'a>,
    masks: SelectorMasks,
    progress: &'a dyn Progress,
}

impl<'a, F: Family> PackMasks<'a, F> {
    fn new(
        params: &'a SelectionParams<F>,
        seed: &Seed,
        tiles: &'a [i16],
        progress: &'a dyn Progress,
    ) -> Self {
        let masks = params.selector_masks(seed, params.selection().capacity);
        Self { params, matrix: matrix(params, tiles), masks, progress }
    }

    /// Of the rows of one pack.
    fn of_pack(&self, pack: usize) -> LweMasks {
        let capacity = self.params.selection().capacity;
        let rows = pack * capacity..(pack + 1) * capacity;
        let masks = self.masks.of_rows(self.params.rlwe().ring(), &self.matrix, rows);
        self.progress.advance(1);
        masks
    }
}

/// For each pack, whether two matrices differ in the groups of rows that hold its own.
fn touched_packs<F: Family>(params: &SelectionParams<F>, old: &[i16], new: &[i16]) -> Vec<bool> {
    let group = matrix_words(1, params.selection().columns);
    let groups = old.par_chunks_exact(group).zip(new.par_chunks_exact(group));
    let differs: Vec<bool> = groups.map(|(old, new)| old != new).collect();
    let capacity = params.selection().capacity;
    let groups_of = |pack: usize| pack * capacity / ROWS..((pack + 1) * capacity).div_ceil(ROWS);
    (0..params.selection().packs()).map(|pack| differs[groups_of(pack)].contains(&true)).collect()
}

fn matrix<'a, F: Family>(params: &SelectionParams<F>, tiles: &'a [i16]) -> WordMatrix<'a> {
    WordMatrix::new(params.selection().columns, tiles)
}

/// Σ word·entry of the selector for each single row, lifted to q.
fn single_bodies<F: Family>(params: &SelectionParams<F>, words: &[i16], selector: &[u64]) -> Vec<u64> {
    let bits = params.bits().query;
    let switch = PowerSwitch::new(params.rlwe().ring().modulus(), bits);
    let product = |row: &[i16]| {
        let terms = row.iter().zip(selector);
        let sum = terms
            .fold(0u64, |sum, (&word, &entry)| sum.wrapping_add(entry.wrapping_mul(i64::from(word) as u64)));
        switch.up(sum & ((1 << bits) - 1))
    };
    words.chunks_exact(params.selection().columns).map(product).collect()
}
