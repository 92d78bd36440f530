//! SETUP and RESPOND (Algorithms 3 and 5), and updates.
//!
//! An update keeps the public seed and gives the same bytes as a setup of the changed records. A
//! changed record alters γ₀ words of one column, so the masks of one unit's pack. That pack is
//! prepared again; its digits are one column of the second level's matrix, and all packs of the
//! second level follow at a fixed cost. So the work grows with the number of distinct units, modulo
//! t, that hold changes.
//!
//! Since the seed stays, the queries of all versions count together as queries under one reference
//! string, and the whitening stream is known before the changes are: the noise bound assumes that
//! changed records do not depend on it. A new setup draws a new seed.

use std::collections::BTreeMap;

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{self, Parameters, Session, UpdateEstimate, check_changes};
use papir_core::scratch::{InMemory, Scratch, find_or_make};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Blob, BlobSlice, Change, Description, Progress, Records, Result};
use papir_kernels::matvec_i16;
use papir_lattice::packing::inspiring::{OnlineKey as Expanded, PartialInspiring};
use papir_lattice::packing::{Bodies, OnlineKey, Preprocessed, RingPacking};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::selection::{SelectorMasks, WordMatrix, write_columns};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::layout::{encode, read_column, read_unit, write_unit};
use super::literal::{Inspire2, NAME};
use super::params::Params;
use super::second::{Packings, body_digits, digit_column, respond};
use super::wire::{Answer, Public, Query};
use crate::shared::matrices::{BLOCK_COLUMNS, RowMasks};
use crate::shared::messages::load_seed;
use crate::shared::packs::{Names, PreparedPacks, sized};
use crate::shared::parameters::refused;
use crate::shared::stored_records::{check_source, read_columns};

const SEED: &str = "inspire2/seed";
const DATABASE: &str = "inspire2/database";
const MATRICES: &str = "inspire2/matrices";
const DIGITS: &str = "inspire2/digits";
const SECOND: Names = Names { scheme: NAME, words: "inspire2/second", packs: "inspire2/second packs" };

/// A prepared database: both levels' matrices and their packs. A clone shares them.
#[derive(Clone)]
pub struct Server {
    pub(super) params: Params,
    public: Public,
    packings: Packings,
    pub(super) parts: Parts,
    /// Masks of the second selector, for the packs made online.
    online_masks: SelectorMasks,
}

/// The stored parts of a server besides its seed.
#[derive(Clone)]
pub(super) struct Parts {
    /// D: 16-bit words in row groups.
    pub(super) tiles: BlobSlice<i16>,
    /// Packing matrices of the first level's t packs.
    pub(super) matrices: BlobSlice<i32>,
    /// Digits of the masks of these packs, in row groups: the second level's matrix.
    pub(super) digits: BlobSlice<i16>,
    /// Packs of the second level.
    pub(super) second: PreparedPacks<PartialInspiring>,
}

/// Packing keys of a query, one for each distinct γ.
pub(super) struct Keys(Vec<OnlineKey<Expanded>>);

impl scheme::Server<Inspire2> for Server {
    const BOUNDED_MEMORY: bool = true;

    fn setup(
        params: Params,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::setup_resumable(params, records, &mut InMemory, rng, progress)
    }

    fn setup_resumable(
        params: Params,
        records: &dyn Records,
        scratch: &mut dyn Scratch,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::prepare_in(params, Seed::random(rng), records, scratch, progress)
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

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        let (params, layout) = (&self.params, self.params.layout());
        check_changes(&layout.shape(), changes)?;
        let mut touched = vec![false; layout.blocks];
        changes.iter().for_each(|change| touched[layout.locate(change.index).block as usize] = true);
        let Description { sizes, work, .. } = params.describe();
        let update = match count(&touched) {
            0 => Counts::new(),
            packs => {
                let copied = (sizes.database + sizes.material) as f64;
                params.material_work(packs).with(Operation::Copy, copied, 1)
            }
        };
        Ok(UpdateEstimate { update, setup: work.setup })
    }

    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        let layout = self.params.layout();
        check_changes(&layout.shape(), changes)?;
        let units = self.changed_units(changes)?;
        if units.is_empty() {
            return Ok(self.clone());
        }
        let mut tiles = AlignedBytes::copy_of(self.parts.tiles.bytes());
        let mut touched = vec![false; layout.blocks];
        for (unit, bytes) in units {
            write_unit(layout, &self.public.seed, tiles.slice_mut(), unit, bytes);
            touched[(unit % layout.blocks as u64) as usize] = true;
        }
        let (params, seed, packings) = (&self.params, &self.public.seed, &self.packings);
        let first = [self.parts.matrices.bytes(), self.parts.digits.bytes()].map(AlignedBytes::copy_of);
        let keys = (params, seed, packings);
        let parts = pack_parts(keys, tiles.into(), first, &touched, &mut InMemory, progress)?;
        Ok(Self::assemble(params.clone(), *seed, packings.clone(), parts))
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let (layout, seed) = (self.params.layout(), &self.public.seed);
        read_columns(&layout.unit_layout, layout.blocks as u64, (first, count), out, |column| {
            read_column(layout, seed, &self.parts.tiles, column)
        })
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        let Parts { tiles, matrices, digits, second } = &self.parts;
        sink.put(SEED, &[&self.public.seed.0])?;
        sink.put(DATABASE, &[tiles.bytes()])?;
        sink.put(MATRICES, &[matrices.bytes()])?;
        sink.put(DIGITS, &[digits.bytes()])?;
        second.save(sink)
    }

    fn load(params: Params, source: &dyn SectionSource) -> Result<Self> {
        let seed = load_seed(source, SEED)?;
        let packings = Packings::new(&params, &seed)?;
        let parts = Parts {
            tiles: sized(source, DATABASE, params.layout().matrix_bytes() as usize)?,
            matrices: sized(source, MATRICES, params.pack_bytes(0) as usize)?,
            digits: sized(source, DIGITS, 2 * params.digit_words())?,
            second: PreparedPacks::load(SECOND, packings.packing(1), params.literal().packs()[0], source)?,
        };
        Ok(Self::assemble(params, seed, packings, parts))
    }
}

impl Server {
    /// Prepares a database under a given public seed.
    ///
    /// # Errors
    /// The errors of the source, and [`papir_core::Error::Parameters`] for a source of another
    /// shape.
    pub fn prepare(
        params: Params,
        seed: Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::prepare_in(params, seed, records, &mut InMemory, progress)
    }

    /// [`Server::prepare`] in memory of `scratch`, where the encoded matrix is kept.
    fn prepare_in(
        params: Params,
        seed: Seed,
        records: &dyn Records,
        scratch: &mut dyn Scratch,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let layout = params.layout();
        check_source(NAME, layout.shape(), records)?;
        let tiles = find_or_make(scratch, DATABASE, layout.matrix_bytes() as usize, |tiles| {
            encode(layout, &seed, records, tiles, progress)
        })?;
        let packings = Packings::new(&params, &seed)?;
        let matrices = scratch.zeroed(MATRICES, params.pack_bytes(0) as usize)?;
        let digits = scratch.zeroed(DIGITS, 2 * params.digit_words())?;
        let all = vec![true; layout.blocks];
        let (first, keys) = ([matrices, digits], (&params, &seed, &packings));
        let parts = pack_parts(keys, tiles, first, &all, scratch, progress)?;
        Ok(Self::assemble(params, seed, packings, parts))
    }

    fn assemble(params: Params, seed: Seed, packings: Packings, parts: Parts) -> Self {
        let masks = parts.second.answer_masks(params.rlwe().ring(), params.literal().answer);
        let online_masks = params.selector(1).masks(&seed, params.literal().gammas[2]);
        Self { params, public: Public { seed, masks }, packings, parts, online_masks }
    }

    fn ring(&self) -> &papir_ring::Ring {
        self.params.rlwe().ring()
    }

    /// Line 6: packing keys of queries.
    pub(super) fn read_keys(&self, queries: &[&Query]) -> Result<Vec<Keys>> {
        let read = |query: &&Query| {
            let (bits, mut rest) = (self.params.literal().key_bits, &query.keys[..]);
            let key = |packing: &PartialInspiring| {
                let (words, others) = rest.split_at(packing.shape().words().min(rest.len()));
                rest = others;
                SECOND.online_key(packing, &[bits], words)
            };
            Ok(Keys(self.packings.distinct().iter().map(key).collect::<Result<_>>()?))
        };
        queries.par_iter().map(read).collect()
    }

    /// Keys of the first, second or third packing.
    fn keys_of<'a>(&self, keys: &'a [Keys], packing: usize) -> Vec<&'a OnlineKey<Expanded>> {
        keys.iter().map(|keys| &keys.0[self.packings.role(packing)]).collect()
    }

    /// Line 7, b′₀ = D·b₀: bodies of all units modulo q, in one pass over the database.
    pub(super) fn select(&self, queries: &[&Query]) -> Vec<Bodies> {
        let layout = self.params.layout();
        self.select_from(&self.parts.tiles, queries, 0, [layout.unit_words, layout.blocks])
    }

    /// A level's matrix times its selectors, as bodies of packs of γ.
    fn select_from(
        &self,
        tiles: &[i16],
        queries: &[&Query],
        level: usize,
        [gamma, packs]: [usize; 2],
    ) -> Vec<Bodies> {
        let matrix = WordMatrix::new(self.params.selectors()[level], tiles);
        let selectors: Vec<&[u64]> = queries.iter().map(|query| query.selectors[level].as_slice()).collect();
        let bits = self.params.literal().query_bits[level];
        let sums = matrix.select(&selectors, bits).into_iter();
        sums.map(|sums| Bodies::from_sums(self.ring(), gamma, packs, &sums, bits)).collect()
    }

    /// Line 8: packed bodies of all units.
    pub(super) fn pack_first(&self, bodies: Vec<Bodies>, keys: &[Keys]) -> Result<Vec<Bodies>> {
        let (packing, keys) = (self.packings.packing(0), self.keys_of(keys, 0));
        packing.pack_bodies(&self.parts.matrices, &[], bodies, &keys).map_err(refused(NAME))
    }

    /// Lines 10 and 11: bodies of resp₁.
    pub(super) fn pack_second(&self, queries: &[&Query], keys: &[Keys]) -> Result<Vec<Bodies>> {
        let packs = [self.params.literal().gammas[1], self.params.literal().packs()[0]];
        let bodies = self.select_from(&self.parts.digits, queries, 1, packs);
        self.parts.second.pack(self.packings.packing(1), bodies, &self.keys_of(keys, 1))
    }

    /// Lines 9, 10 and 12: resp₂, from the digits of the packed bodies.
    pub(super) fn pack_online(
        &self,
        queries: &[&Query],
        firsts: &[Bodies],
        keys: &[Keys],
    ) -> Result<Vec<Vec<Rlwe>>> {
        let (packing, masks) = (self.packings.packing(2), &self.online_masks);
        let answer = |((query, first), key): ((&&Query, &Bodies), &OnlineKey<Expanded>)| {
            let digits = body_digits(&self.params, first);
            respond(&self.params, packing, masks, &digits, &query.selectors[1], key)
        };
        queries.par_iter().zip(firsts).zip(self.keys_of(keys, 2)).map(answer).collect()
    }

    /// Switches masks and bodies to the bits of an answer.
    fn switch(&self, second: &Bodies, third: &[Rlwe]) -> Answer {
        let (ring, bits) = (self.ring(), self.params.literal().answer);
        let gamma = self.params.literal().gammas[2];
        let body = |pack: &Rlwe| bits.body(ring, &ring.to_words(&pack.b)[..gamma]);
        Answer {
            first: bits.body(ring, &second.to_words(ring)),
            masks: third.iter().flat_map(|pack| bits.mask(ring, &pack.a)).collect(),
            second: third.iter().flat_map(body).collect(),
        }
    }

    /// The new bytes of all units that changes alter.
    fn changed_units(&self, changes: &[Change]) -> Result<BTreeMap<u64, Vec<u8>>> {
        let layout = self.params.layout();
        let read = |unit| read_unit(layout, &self.public.seed, &self.parts.tiles, unit);
        let mut units = BTreeMap::new();
        for change in changes {
            let unit = layout.locate(change.index).unit;
            layout.unit_layout.set(units.entry(unit).or_insert_with(|| read(unit)), change)?;
        }
        units.retain(|&unit, bytes| *bytes != read(unit));
        Ok(units)
    }
}

/// Prepares the wanted packs of the first level, and the second level, from the words of D. Packing
/// matrices and digits of the first level have those of its other packs.
fn pack_parts(
    (params, seed, packings): (&Params, &Seed, &Packings),
    tiles: Blob,
    [mut matrices, mut digits]: [AlignedBytes; 2],
    wanted: &[bool],
    scratch: &mut dyn Scratch,
    progress: &dyn Progress,
) -> Result<Parts> {
    let packs = params.literal().packs()[0];
    let tiles = BlobSlice::new(tiles, DATABASE)?;
    progress.stage("pack", (count(wanted) + packs) as u64);
    let first = row_masks(params, seed, 0, &tiles, progress);
    let of_block = move |block| first.of_pack(block);
    let packing = packings.packing(0);
    let prepared = packing.prepare_where(wanted.len(), |i| wanted[i], of_block, matrices.slice_mut());
    write_digits(params, &prepared.map_err(refused(NAME))?, digits.slice_mut());
    let digits = BlobSlice::new(digits.into(), DIGITS)?;
    let masks = row_masks(params, seed, 1, &digits, progress);
    let of_pack = move |pack| masks.of_pack(pack);
    let second = PreparedPacks::prepare(SECOND, packings.packing(1), packs, of_pack, scratch)?;
    Ok(Parts { tiles, matrices: BlobSlice::new(matrices.into(), MATRICES)?, digits, second })
}

/// Lines 7 and 10 on public values: masks of the LWE encryptions in each pack of a level.
fn row_masks<'a>(
    params: &'a Params,
    seed: &Seed,
    level: usize,
    tiles: &'a [i16],
    progress: &'a dyn Progress,
) -> RowMasks<'a> {
    let (rows, matrix) = (params.literal().gammas[level], WordMatrix::new(params.selectors()[level], tiles));
    let masks = params.selector(level).masks(seed, rows);
    RowMasks { ring: params.rlwe().ring(), matrix: matrix.into(), masks, rows, progress }
}

fn count(touched: &[bool]) -> usize {
    touched.iter().filter(|&&touched| touched).count()
}

/// Writes the digits of the masks of prepared units' encryptions, each a column.
fn write_digits(params: &Params, prepared: &[Option<Preprocessed>], tiles: &mut [i16]) {
    let (groups, blocks) = (params.digit_rows() / matvec_i16::ROWS, params.layout().blocks);
    for (i, packs) in prepared.chunks(BLOCK_COLUMNS).enumerate() {
        let digits = |pack: &Option<Preprocessed>| pack.as_ref().map(|pack| digit_column(params, &pack.a));
        let columns: Vec<Option<Vec<i16>>> = packs.par_iter().map(digits).collect();
        if columns.iter().all(Option::is_some) {
            let columns: Vec<Vec<i16>> = columns.into_iter().flatten().collect();
            write_columns(tiles, blocks, i * BLOCK_COLUMNS, &columns);
            continue;
        }
        for (block, column) in (i * BLOCK_COLUMNS..).zip(&columns) {
            if let Some(column) = column {
                matvec_i16::scatter_column(tiles, groups, blocks.div_ceil(2), block, column);
            }
        }
    }
}
