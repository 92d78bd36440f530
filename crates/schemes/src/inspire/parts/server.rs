//! SETUP and RESPOND (Algorithms 7 and 9 of InsPIRe), the rows of a pack shared by the parts.

use papir_core::codec::Reader;
use papir_core::scheme::{self, Parameters, Session, UpdateEstimate, check_changes};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, BlobSlice, Change, Progress, Records, Result, Shape, check_read};
use papir_lattice::packing::inspiring::{self, Inspiring};
use papir_lattice::packing::{Bodies, KeyBodies, LweMasks, OnlineKey, RingPacking};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::selection::{SelectorMasks, WordMatrix};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::InspireInParts;
use super::params::{NAME, PartsParams};
use super::wire::{PartsAnswer, PartsPublic, PartsQuery};
use crate::inspire;
use crate::inspire::decode::Columns;
use crate::inspire::encode::encode;
use crate::inspire::masks::{packing, selector_masks};
use crate::shared::packs::{Names, PreparedPacks, sized};
use crate::shared::shapes::check_source;

const NAMES: Names = Names { scheme: NAME, words: "stacked/matrices", packs: "stacked/packs" };
const HEADER: &str = "stacked/header";
const DATABASE: &str = "stacked/database";
const EXCEPTIONS: &str = "stacked/exceptions";

/// The parts' matrices and their packs. A clone shares the matrices.
#[derive(Clone)]
pub struct PartsServer {
    pub(super) params: PartsParams,
    pub(super) public: PartsPublic,
    /// The matrices, part after part, 16-bit words in row groups.
    pub(super) tiles: BlobSlice<i16>,
    /// (row, column) of words that stand for +32768, sorted, for each part.
    pub(super) exceptions: Vec<Vec<[u32; 2]>>,
    packing: Inspiring,
    packs: PreparedPacks<Inspiring>,
}

impl scheme::Server<InspireInParts> for PartsServer {
    fn setup(
        params: PartsParams,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let seeds: Vec<Seed> = (0..params.parts()).map(|_| Seed::random(rng)).collect();
        let packing = packing(params.below(), &seeds[0])?;
        Self::prepare(params, packing, seeds, records, progress)
    }

    fn setup_sharing_keys(
        first: &Self,
        params: PartsParams,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let seeds = (0..params.parts()).map(|_| Seed::random(rng)).collect();
        Self::prepare(params, first.packing.clone(), seeds, records, progress)
    }

    fn params(&self) -> &PartsParams {
        &self.params
    }

    fn public(&self) -> &PartsPublic {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, InspireInParts>, &PartsQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<PartsAnswer>> {
        let queries: Vec<&PartsQuery> = batch.into_iter().map(|(_, query)| query).collect();
        let count = queries.len() as u64;
        progress.stage("read_keys", count);
        let keys = queries.par_iter().map(|query| self.read_key(query)).collect::<Result<Vec<_>>>()?;
        progress.stage("select", count);
        let selected = self.select(&queries);
        progress.stage("pack", count);
        self.pack(selected, &keys)
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        check_changes(&self.params.shape(), changes)?;
        Ok(super::update::cost(self, changes))
    }

    /// Keeps the seeds.
    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, _progress: &dyn Progress) -> Result<Self> {
        check_changes(&self.params.shape(), changes)?;
        super::update::update(self, changes)
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let (shape, of_part) = (self.params.shape(), self.params.part().shape.records());
        check_read(&shape, first, count, out.len())?;
        let (mut next, mut out) = (first, out);
        while next < first + count {
            let (part, within) = self.place(next);
            let run = (of_part - within).min(first + count - next);
            // Parts end at whole bytes.
            let (here, rest) = out.split_at_mut((run * shape.record_bits()).div_ceil(8) as usize);
            let (layout, seed) = (self.params.part(), &self.public.seeds[part]);
            let columns = Columns::new(layout, seed, self.tiles_of(part), &self.exceptions[part]);
            columns.read_packed(within, run, here)?;
            (next, out) = (next + run, rest);
        }
        Ok(())
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        let seeds: Vec<u8> = self.public.seeds.iter().flat_map(|seed| seed.0).collect();
        let counts: Vec<u8> =
            self.exceptions.iter().flat_map(|part| (part.len() as u64).to_le_bytes()).collect();
        sink.put(HEADER, &[&seeds, &counts])?;
        sink.put(DATABASE, &[self.tiles.bytes()])?;
        let parts: Vec<&[u8]> = self.exceptions.iter().map(|part| bytemuck::cast_slice(part)).collect();
        sink.put(EXCEPTIONS, &parts)?;
        self.packs.save(sink)
    }

    fn load(params: PartsParams, source: &dyn SectionSource) -> Result<Self> {
        let (public, _) = read_header(params.parts(), &source.get(HEADER)?)?;
        let packing = packing(params.below(), &public.seeds[0])?;
        Self::load_with(params, packing, source)
    }

    fn load_sharing_keys(first: &Self, params: PartsParams, source: &dyn SectionSource) -> Result<Self> {
        Self::load_with(params, first.packing.clone(), source)
    }
}

impl PartsServer {
    fn prepare(
        params: PartsParams,
        packing: Inspiring,
        seeds: Vec<Seed>,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(NAME, params.shape(), records)?;
        let part_bytes = params.part().matrix_bytes();
        let mut tiles = AlignedBytes::zeroed(params.parts() * part_bytes);
        let mut exceptions = Vec::with_capacity(params.parts());
        for (part, (seed, out)) in
            seeds.iter().zip(tiles.bytes_mut().chunks_exact_mut(part_bytes)).enumerate()
        {
            let part = Part {
                records,
                first: part as u64 * params.part().shape.records(),
                shape: params.part().shape,
            };
            let encoded = encode(params.part(), seed, &part, progress)?;
            out.copy_from_slice(encoded.tiles.as_ref());
            exceptions.push(encoded.exceptions);
        }
        let tiles = BlobSlice::new(tiles.into(), DATABASE)?;
        progress.stage("pack", params.part().chunks as u64);
        let masks = PackMasks::new(&params, &seeds, &tiles, &exceptions);
        let packs =
            PreparedPacks::prepare(NAMES, &packing, params.part().chunks, |pack| masks.of_pack(pack))?;
        Ok(Self { params, public: PartsPublic { seeds }, tiles, exceptions, packing, packs })
    }

    fn load_with(params: PartsParams, packing: Inspiring, source: &dyn SectionSource) -> Result<Self> {
        let (public, counts) = read_header(params.parts(), &source.get(HEADER)?)?;
        let tiles = sized(source, DATABASE, params.parts() * params.part().matrix_bytes())?;
        let all = counts.iter().fold(0usize, |all, count| all.saturating_add(*count));
        let listed: BlobSlice<[u32; 2]> =
            sized(source, EXCEPTIONS, all.saturating_mul(size_of::<[u32; 2]>()))?;
        let mut listed = &listed[..];
        let mut exceptions = Vec::with_capacity(counts.len());
        for count in counts {
            let (part, rest) = listed.split_at(count);
            inspire::server::check_exceptions(params.part(), part)?;
            exceptions.push(part.to_vec());
            listed = rest;
        }
        let packs = PreparedPacks::load(NAMES, &packing, params.part().chunks, source)?;
        Ok(Self { params, public, tiles, exceptions, packing, packs })
    }

    /// Other matrices under the same seeds, which differ in some chunks.
    pub(super) fn changed(
        &self,
        tiles: BlobSlice<i16>,
        exceptions: Vec<Vec<[u32; 2]>>,
        touched: &[bool],
    ) -> Result<Self> {
        let masks = PackMasks::new(&self.params, &self.public.seeds, &tiles, &exceptions);
        let packs = self.packs.refresh(&self.packing, |pack| touched[pack], |pack| masks.of_pack(pack))?;
        Ok(Self { tiles, exceptions, packs, ..self.clone() })
    }

    /// The part of an index, and its index there.
    pub(super) fn place(&self, index: u64) -> (usize, u64) {
        let records = self.params.part().shape.records();
        ((index / records) as usize, index % records)
    }

    /// The words of one part.
    pub(super) fn tiles_of(&self, part: usize) -> &[i16] {
        let words = self.params.part().matrix_bytes() / size_of::<i16>();
        &self.tiles[part * words..][..words]
    }

    fn matrix(&self, part: usize) -> WordMatrix<'_> {
        WordMatrix::new(self.params.part().columns, self.tiles_of(part))
            .with_exceptions(&self.exceptions[part])
    }

    /// Line 7: the bodies of all packs for each query, each part's rows by its own selector.
    fn select(&self, queries: &[&PartsQuery]) -> Vec<Bodies> {
        let (part, below) = (self.params.part(), self.params.below());
        let bits = below.literal().query_bits;
        // Of each part, for each query, a sum a row.
        let sums: Vec<Vec<Vec<u64>>> = (0..self.params.parts())
            .into_par_iter()
            .map(|number| {
                let of_part = number * part.columns..(number + 1) * part.columns;
                let selectors: Vec<&[u64]> =
                    queries.iter().map(|query| &query.selectors[of_part.clone()]).collect();
                self.matrix(number).select(&selectors, bits)
            })
            .collect();
        let degree = below.layout().degree;
        let bodies = |query: usize| {
            let rows = |chunk: usize| chunk * part.degree..(chunk + 1) * part.degree;
            let pack =
                |chunk| sums.iter().flat_map(move |of_part| of_part[query][rows(chunk)].iter().copied());
            let words: Vec<u64> = (0..part.chunks).flat_map(pack).collect();
            Bodies::from_sums(below.rlwe().ring(), degree, part.chunks, &words, bits)
        };
        (0..queries.len()).map(bodies).collect()
    }

    /// The packing key of a query, lifted to q.
    fn read_key(&self, query: &PartsQuery) -> Result<OnlineKey<inspiring::OnlineKey>> {
        let elements = inspire::server::lift_keys(self.params.below(), &query.keys);
        let key =
            KeyBodies::new(self.packing.shape(), elements).and_then(|key| self.packing.online_key(&key));
        key.map_err(|error| NAMES.refused(error))
    }

    /// Lines 8 to 12, and the answers' rounding.
    fn pack(
        &self,
        bodies: Vec<Bodies>,
        keys: &[OnlineKey<inspiring::OnlineKey>],
    ) -> Result<Vec<PartsAnswer>> {
        let ring = self.params.below().rlwe().ring();
        let packed = self.packs.pack(&self.packing, bodies, &keys.iter().collect::<Vec<_>>())?;
        let answer = |bodies: &Bodies| {
            let packs = self.packs.packs.iter().enumerate();
            let results = packs.map(|(i, pack)| Rlwe { a: pack.a.clone(), b: bodies.poly(ring, i) });
            PartsAnswer(inspire::server::switch(self.params.below(), &results.collect::<Vec<_>>()))
        };
        Ok(packed.iter().map(answer).collect())
    }
}

/// The masks of each pack's LWE encryptions: rows of all parts, each under its part's masks.
struct PackMasks<'a> {
    params: &'a PartsParams,
    parts: Vec<(SelectorMasks, WordMatrix<'a>)>,
}

impl<'a> PackMasks<'a> {
    fn new(
        params: &'a PartsParams,
        seeds: &[Seed],
        tiles: &'a [i16],
        exceptions: &'a [Vec<[u32; 2]>],
    ) -> Self {
        let words = params.part().matrix_bytes() / size_of::<i16>();
        let part = |((seed, tiles), exceptions): ((&Seed, &'a [i16]), &'a Vec<[u32; 2]>)| {
            let matrix = WordMatrix::new(params.part().columns, tiles).with_exceptions(exceptions);
            (selector_masks(params.below(), seed), matrix)
        };
        Self {
            params,
            parts: seeds.iter().zip(tiles.chunks_exact(words)).zip(exceptions).map(part).collect(),
        }
    }

    fn of_pack(&self, pack: usize) -> LweMasks {
        let (ring, rows) = (self.params.below().rlwe().ring(), self.params.part().degree);
        let of_part = |(masks, matrix): &(SelectorMasks, WordMatrix<'_>)| {
            masks.of_rows(ring, matrix, pack * rows..(pack + 1) * rows)
        };
        LweMasks::joined(ring, self.parts.iter().map(of_part))
    }
}

/// The records of one part, among those of all.
struct Part<'a> {
    records: &'a dyn Records,
    first: u64,
    shape: Shape,
}

impl Records for Part<'_> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        check_read(&self.shape, first, count, out.len())?;
        self.records.read_packed(self.first + first, count, out)
    }
}

/// The seeds, and how many exceptions each part has.
fn read_header(parts: usize, bytes: &[u8]) -> Result<(PartsPublic, Vec<usize>)> {
    let mut reader = Reader::new(HEADER, bytes);
    let seeds = (0..parts).map(|_| reader.array().map(Seed)).collect::<Result<Vec<_>>>()?;
    let count = |_| reader.u64().map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let counts = (0..parts).map(count).collect::<Result<Vec<_>>>()?;
    reader.finish()?;
    Ok((PartsPublic { seeds }, counts))
}
