//! SETUP and RESPOND (Algorithms 3 and 5). Changing records is [`super::update`].

use papir_core::codec::Reader;
use papir_core::scheme::{self, Session};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, BlobSlice, Change, Progress, Records, Result};
use papir_lattice::mod_switch::lift_elements;
use papir_lattice::packing::inspiring::{OnlineKey as Expanded, PartialInspiring};
use papir_lattice::packing::{Bodies, KeyBodies, LweMasks, OnlineKey, Preprocessed, RingPacking};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::selection::{SelectorMasks, WordMatrix, write_columns};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::Inspire2;
use super::encode::{encode, read_column};
use super::masks::{Packings, selector_masks};
use super::params::{NAME, Params};
use super::second::{Online, body_digits, digit_column};
use super::wire::{Answer, Public, Query};
use crate::shared::packs::{Names, PreparedPacks, sized};
use crate::shared::readback::read_columns;
use crate::shared::shapes::check_source;

const SEED: &str = "inspire2/seed";
const DATABASE: &str = "inspire2/database";
const MATRICES: &str = "inspire2/matrices";
const DIGITS: &str = "inspire2/digits";
const SECOND: Names = Names { scheme: NAME, words: "inspire2/second", packs: "inspire2/second packs" };

/// Columns of the matrix of digits that are written together; an even number.
const BLOCK_COLUMNS: usize = 64;

/// A prepared database: both levels' matrices and their packs. A clone shares them.
#[derive(Clone)]
pub struct Server {
    pub(super) params: Params,
    pub(super) public: Public,
    pub(super) packings: Packings,
    /// D: 16-bit words in row groups.
    pub(super) tiles: BlobSlice<i16>,
    /// The packing matrices of the first level's t packs.
    pub(super) matrices: BlobSlice<i32>,
    /// The digits of their masks, in row groups: the second level's matrix.
    pub(super) digits: BlobSlice<i16>,
    /// The second level's packs.
    pub(super) second: PreparedPacks<PartialInspiring>,
    /// The masks of the second selector, for the packs made online.
    online_masks: SelectorMasks,
}

/// A query's packing keys, one for each distinct γ.
pub struct Keys(Vec<OnlineKey<Expanded>>);

impl scheme::Server<Inspire2> for Server {
    fn setup(
        params: Params,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::prepare(params, Seed::random(rng), records, progress)
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn public(&self) -> &Public {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Inspire2>, &Query)>,
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>> {
        let queries: Vec<&Query> = batch.into_iter().map(|(_, query)| query).collect();
        let count = queries.len() as u64;
        progress.stage("read_keys", count);
        let keys = self.read_keys(&queries)?;
        progress.stage("select", count);
        let bodies = self.select(&queries);
        progress.stage("pack_first", count);
        let firsts = self.pack_first(bodies, &keys)?;
        progress.stage("pack_second", count);
        let seconds = self.pack_second(&queries, &keys)?;
        progress.stage("pack_online", count);
        let thirds = self.pack_online(&queries, &firsts, &keys)?;
        progress.stage("switch", count);
        Ok(seconds.iter().zip(&thirds).map(|(second, third)| self.switch(second, third)).collect())
    }

    fn update_cost(&self, changes: &[Change]) -> Result<scheme::UpdateEstimate> {
        super::update::cost(self, changes)
    }

    /// Keeps the public seed: byte for byte what [`Server::prepare`] gives for the changed records.
    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        super::update::update(self, changes, progress)
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let (layout, seed) = (self.params.layout(), &self.public.seed);
        read_columns(&layout.bundle, layout.blocks as u64, (first, count), out, |column| {
            read_column(layout, seed, &self.tiles, column)
        })
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(SEED, &[&self.public.seed.0])?;
        sink.put(DATABASE, &[self.tiles.bytes()])?;
        sink.put(MATRICES, &[self.matrices.bytes()])?;
        sink.put(DIGITS, &[self.digits.bytes()])?;
        self.second.save(sink)
    }

    fn load(params: Params, source: &dyn SectionSource) -> Result<Self> {
        let bytes = source.get(SEED)?;
        let mut reader = Reader::new(SEED, &bytes);
        let seed = Seed(reader.array()?);
        reader.finish()?;
        let packings = Packings::new(&params, &seed)?;
        let parts = Parts {
            tiles: sized(source, DATABASE, params.layout().matrix_bytes())?,
            matrices: sized(source, MATRICES, 4 * params.pack_words(0, params.layout().blocks))?,
            digits: sized(source, DIGITS, 2 * params.digit_words())?,
            second: PreparedPacks::load(SECOND, packings.packing(1), params.packs()[0], source)?,
        };
        Ok(Self::assemble(params, seed, packings, parts))
    }
}

/// What a server is made of, beside parameters and seed.
pub(super) struct Parts {
    pub(super) tiles: BlobSlice<i16>,
    pub(super) matrices: BlobSlice<i32>,
    pub(super) digits: BlobSlice<i16>,
    pub(super) second: PreparedPacks<PartialInspiring>,
}

impl Server {
    /// Prepares a database under a given public seed.
    ///
    /// # Errors
    /// Those of the source, and [`Error::Parameters`] when its shape is not the parameters'.
    pub fn prepare(
        params: Params,
        seed: Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(NAME, params.layout().shape(), records)?;
        let tiles = encode(params.layout(), &seed, records, progress)?;
        let tiles = BlobSlice::new(tiles.into(), DATABASE)?;
        let packings = Packings::new(&params, &seed)?;
        let blocks = params.layout().blocks;
        progress.stage("pack", (blocks + params.packs()[0]) as u64);
        let first = FirstMasks::new(&params, &seed, &tiles, progress);
        let mut matrices = AlignedBytes::zeroed(4 * params.pack_words(0, blocks));
        let prepared =
            packings.packing(0).prepare_all(blocks, |block| first.of_block(block), matrices.slice_mut());
        let prepared = prepared.map_err(|error| SECOND.refused(error))?;
        let digits = BlobSlice::new(digit_matrix(&params, &prepared).into(), DIGITS)?;
        let masks = SecondMasks::new(&params, &seed, &digits, progress);
        let second = PreparedPacks::prepare(SECOND, packings.packing(1), params.packs()[0], |pack| {
            masks.of_pack(pack)
        })?;
        let matrices = BlobSlice::new(matrices.into(), MATRICES)?;
        Ok(Self::assemble(params, seed, packings, Parts { tiles, matrices, digits, second }))
    }

    /// Everything that follows from the parts.
    pub(super) fn assemble(params: Params, seed: Seed, packings: Packings, parts: Parts) -> Self {
        let Parts { tiles, matrices, digits, second } = parts;
        let (ring, bits) = (params.rlwe().ring(), params.answer_bits());
        let masks = second.packs.iter().flat_map(|pack| bits.mask(ring, &pack.a)).collect();
        let online_masks = selector_masks(&params, &seed, 1, params.literal().gammas[2]);
        let public = Public { seed, masks };
        Self { params, public, packings, tiles, matrices, digits, second, online_masks }
    }

    fn ring(&self) -> &papir_ring::Ring {
        self.params.rlwe().ring()
    }

    /// Line 6: the packing keys of queries, lifted to q.
    ///
    /// # Errors
    /// None for queries of these parameters: [`Error::Parameters`] for keys of others.
    pub fn read_keys(&self, queries: &[&Query]) -> Result<Vec<Keys>> {
        queries.par_iter().map(|query| self.read_key(query)).collect()
    }

    fn read_key(&self, query: &Query) -> Result<Keys> {
        let mut elements =
            lift_elements(self.ring(), self.params.literal().key_bits, &query.keys).into_iter();
        let key = |packing: &PartialInspiring| {
            let shape = packing.shape();
            let bodies = KeyBodies::new(shape, elements.by_ref().take(shape.elements()).collect());
            bodies.and_then(|bodies| packing.online_key(&bodies)).map_err(|error| SECOND.refused(error))
        };
        Ok(Keys(self.packings.distinct().iter().map(key).collect::<Result<_>>()?))
    }

    /// The keys of the first, second or third packing.
    fn keys_of<'a>(&self, keys: &'a [Keys], packing: usize) -> Vec<&'a OnlineKey<Expanded>> {
        keys.iter().map(|keys| &keys.0[self.packings.role(packing)]).collect()
    }

    /// Line 7, b′₀ = D·b₀: the bodies of all units, modulo q. One read of the database.
    pub fn select(&self, queries: &[&Query]) -> Vec<Bodies> {
        let layout = self.params.layout();
        let matrix = WordMatrix::new(layout.columns, &self.tiles);
        self.select_from(&matrix, queries, 0, [layout.unit_words, layout.blocks])
    }

    /// A matrix times a level's selectors, as bodies of so many packs of γ.
    fn select_from(
        &self,
        matrix: &WordMatrix<'_>,
        queries: &[&Query],
        level: usize,
        [gamma, packs]: [usize; 2],
    ) -> Vec<Bodies> {
        let selectors: Vec<&[u64]> = queries.iter().map(|query| query.selectors[level].as_slice()).collect();
        let bits = self.params.literal().query_bits[level];
        let sums = matrix.select(&selectors, bits).into_iter();
        sums.map(|sums| Bodies::from_sums(self.ring(), gamma, packs, &sums, bits)).collect()
    }

    /// Line 8: the packed bodies of all units.
    ///
    /// # Errors
    /// As [`Server::read_keys`].
    pub fn pack_first(&self, bodies: Vec<Bodies>, keys: &[Keys]) -> Result<Vec<Bodies>> {
        let packed =
            self.packings.packing(0).pack_bodies(&self.matrices, &[], bodies, &self.keys_of(keys, 0));
        packed.map_err(|error| SECOND.refused(error))
    }

    /// Lines 10 and 11: the bodies of resp₁.
    ///
    /// # Errors
    /// As [`Server::read_keys`].
    pub fn pack_second(&self, queries: &[&Query], keys: &[Keys]) -> Result<Vec<Bodies>> {
        let matrix = WordMatrix::new(self.params.layout().blocks, &self.digits);
        let packs = [self.params.literal().gammas[1], self.params.packs()[0]];
        let bodies = self.select_from(&matrix, queries, 1, packs);
        self.second.pack(self.packings.packing(1), bodies, &self.keys_of(keys, 1))
    }

    /// Lines 9, 10 and 12: resp₂, of the digits of the packed bodies.
    ///
    /// # Errors
    /// As [`Server::read_keys`].
    pub fn pack_online(
        &self,
        queries: &[&Query],
        firsts: &[Bodies],
        keys: &[Keys],
    ) -> Result<Vec<Vec<Rlwe>>> {
        let online = Online {
            ring: self.ring(),
            packing: self.packings.packing(2),
            masks: &self.online_masks,
            columns: self.params.layout().blocks,
            bits: self.params.literal().query_bits[1],
        };
        let respond = |((query, first), key): ((&&Query, &Bodies), &OnlineKey<Expanded>)| {
            let digits = body_digits(&self.params, first);
            online.respond(&digits, &query.selectors[1], key).map_err(|error| SECOND.refused(error))
        };
        queries.par_iter().zip(firsts).zip(self.keys_of(keys, 2)).map(respond).collect()
    }

    /// Switches masks and bodies to the few bits that an answer carries.
    pub fn switch(&self, second: &Bodies, third: &[Rlwe]) -> Answer {
        let (ring, bits) = (self.ring(), self.params.answer_bits());
        let gamma = self.params.literal().gammas[2];
        let body = |pack: &Rlwe| bits.body(ring, &ring.to_words(&pack.b)[..gamma]);
        Answer {
            first: bits.body(ring, &second.to_words(ring)),
            masks: third.iter().flat_map(|pack| bits.mask(ring, &pack.a)).collect(),
            second: third.iter().flat_map(body).collect(),
        }
    }
}

/// Line 7 on what is public: the masks of the LWE encryptions of each unit of the selected column.
pub(super) struct FirstMasks<'a> {
    params: &'a Params,
    matrix: WordMatrix<'a>,
    masks: SelectorMasks,
    progress: &'a dyn Progress,
}

impl<'a> FirstMasks<'a> {
    pub(super) fn new(params: &'a Params, seed: &Seed, tiles: &'a [i16], progress: &'a dyn Progress) -> Self {
        let matrix = WordMatrix::new(params.layout().columns, tiles);
        Self { params, matrix, masks: selector_masks(params, seed, 0, params.layout().unit_words), progress }
    }

    pub(super) fn of_block(&self, block: usize) -> LweMasks {
        let gamma = self.params.layout().unit_words;
        self.progress.advance(1);
        self.masks.of_rows(self.params.rlwe().ring(), &self.matrix, block * gamma..(block + 1) * gamma)
    }
}

/// Line 10 on what is public: the masks of the second level's packs.
pub(super) struct SecondMasks<'a> {
    params: &'a Params,
    matrix: WordMatrix<'a>,
    masks: SelectorMasks,
    progress: &'a dyn Progress,
}

impl<'a> SecondMasks<'a> {
    pub(super) fn new(
        params: &'a Params,
        seed: &Seed,
        digits: &'a [i16],
        progress: &'a dyn Progress,
    ) -> Self {
        let matrix = WordMatrix::new(params.layout().blocks, digits);
        Self { params, matrix, masks: selector_masks(params, seed, 1, params.literal().gammas[1]), progress }
    }

    pub(super) fn of_pack(&self, pack: usize) -> LweMasks {
        let gamma = self.params.literal().gammas[1];
        self.progress.advance(1);
        self.masks.of_rows(self.params.rlwe().ring(), &self.matrix, pack * gamma..(pack + 1) * gamma)
    }
}

/// The digits of the masks of all units' encryptions.
fn digit_matrix(params: &Params, prepared: &[Preprocessed]) -> AlignedBytes {
    let mut tiles = AlignedBytes::zeroed(2 * params.digit_words());
    for (i, packs) in prepared.chunks(BLOCK_COLUMNS).enumerate() {
        let columns: Vec<Vec<i16>> = packs.par_iter().map(|pack| digit_column(params, &pack.a)).collect();
        write_columns(tiles.slice_mut(), params.layout().blocks, i * BLOCK_COLUMNS, &columns);
    }
    tiles
}
