//! The server of SimplePIR: `Setup` and `Answer` of figure 2.

use papir_core::scheme::{Parameters, Scheme, Server, Session};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Blob, Change, Error, Progress, Records, Result};
use papir_kernels::rows8::{self, MAX_PLANES, ROWS};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::params::{SEED_BYTES, SimpleParams};
use super::wire::{SimpleAnswer, SimplePublic, SimpleQuery};
use super::{Simple, hint, update};
use crate::shape_io::check_source;

const SEED: &str = "simple/seed";
const HINT: &str = "simple/hint";
const DATABASE: &str = "simple/database";

/// The matrix in the kernel's layout, the seed and the hint.
pub struct SimpleServer {
    pub(super) params: SimpleParams,
    pub(super) public: SimplePublic,
    pub(super) tiles: Blob,
}

impl Server<Simple> for SimpleServer {
    fn setup(
        params: SimpleParams,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(Simple::NAME, params.shape(), records)?;
        let seed = Seed::random(rng);
        let tiles = encode(&params, records, progress)?;
        let hint = hint::compute(&seed, tiles.as_ref(), &params.layout, progress).into();
        Ok(Self { params, public: SimplePublic { seed, hint }, tiles: tiles.into() })
    }

    fn params(&self) -> &SimpleParams {
        &self.params
    }

    fn public(&self) -> &SimplePublic {
        &self.public
    }

    fn answer(&self, _session: Session<'_, Simple>, query: &SimpleQuery) -> Result<SimpleAnswer> {
        Ok(self.round(&self.sums(&[query]).concat()))
    }

    fn answer_many(&self, batch: Vec<(Session<'_, Simple>, &SimpleQuery)>) -> Result<Vec<SimpleAnswer>> {
        let queries: Vec<&SimpleQuery> = batch.into_iter().map(|(_, query)| query).collect();
        Ok(self.sums(&queries).iter().map(|sums| self.round(sums)).collect())
    }

    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        update::update(self, changes, progress)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(SEED, &[&self.public.seed.0])?;
        sink.put(HINT, &[&self.public.hint])?;
        sink.put(DATABASE, &[&self.tiles])
    }

    fn load(params: SimpleParams, source: &dyn SectionSource) -> Result<Self> {
        let (seed, hint, tiles) = (source.get(SEED)?, source.get(HINT)?, source.get(DATABASE)?);
        Error::check_length("simple's seed", seed.len(), SEED_BYTES)?;
        Error::check_length("simple's hint", hint.len(), params.hint_bytes())?;
        Error::check_length("simple's database", tiles.len(), params.layout.tile_bytes() as usize)?;
        let mut bytes = [0; SEED_BYTES];
        bytes.copy_from_slice(&seed);
        Ok(Self { params, public: SimplePublic { seed: Seed(bytes), hint }, tiles })
    }
}

/// Reads all records, column by column, into the kernel's layout.
fn encode(params: &SimpleParams, records: &dyn Records, progress: &dyn Progress) -> Result<AlignedBytes> {
    let layout = &params.layout;
    let shape = params.shape();
    let mut tiles = AlignedBytes::zeroed(layout.tile_bytes() as usize);
    let mut columns = [(); 4].map(|()| vec![0; layout.groups() * ROWS]);
    progress.stage("encode", layout.columns as u64);
    for quad in 0..layout.quads() {
        for (h, column) in columns.iter_mut().enumerate() {
            column.fill(0);
            let first = (4 * quad + h) as u64 * layout.column_records();
            let count = layout.column_records().min(shape.records().saturating_sub(first));
            if count > 0 {
                let bytes = (count * shape.record_bits()).div_ceil(8) as usize;
                records.read_packed(first, count, &mut column[..bytes])?;
                progress.advance(1);
            }
        }
        let columns = columns.each_ref().map(Vec::as_slice);
        rows8::scatter_quad(tiles.bytes_mut(), layout.groups(), layout.quads(), quad, columns);
    }
    Ok(tiles)
}

impl SimpleServer {
    /// D times each query modulo q, with centred words, in one read of the database.
    pub(super) fn sums(&self, queries: &[&SimpleQuery]) -> Vec<Vec<u32>> {
        if queries.is_empty() {
            return Vec::new();
        }
        let layout = &self.params.layout;
        let planes: Vec<Vec<i8>> = queries.iter().map(|query| planes(&query.values)).collect();
        let planes: Vec<&[i8]> = planes.iter().map(Vec::as_slice).collect();
        let groups = layout.groups().div_ceil(4 * rayon::current_num_threads());
        let parts: Vec<Vec<u32>> = self
            .tiles
            .par_chunks(groups * layout.group_bytes())
            .map(|tiles| {
                let rows = tiles.len() / layout.group_bytes() * ROWS;
                let mut sums = vec![0; queries.len() * rows];
                let mut outs: Vec<&mut [u32]> = sums.chunks_exact_mut(rows).collect();
                rows8::pass_many(tiles, layout.quads(), &planes, MAX_PLANES, &mut outs);
                sums
            })
            .collect();
        let sums_of = |(i, query): (usize, &&SimpleQuery)| {
            let rows = parts.iter().flat_map(|part| part.chunks_exact(part.len() / queries.len()).nth(i));
            centred(rows.flatten().take(layout.rows), &query.values)
        };
        queries.iter().enumerate().map(sums_of).collect()
    }

    /// Drops the low bits of each sum, rounding to nearest.
    fn round(&self, sums: &[u32]) -> SimpleAnswer {
        let dropped = self.params.budget.dropped_bits;
        let half = (1u32 << dropped) / 2;
        SimpleAnswer { values: sums.iter().map(|sum| u64::from(sum.wrapping_add(half) >> dropped)).collect() }
    }
}

fn planes(values: &[u32]) -> Vec<i8> {
    let mut planes = Vec::new();
    rows8::pack_planes(values, u32::BITS, MAX_PLANES, &mut planes);
    planes
}

/// Σ(w − 128)·x from Σw·x.
fn centred<'a>(sums: impl Iterator<Item = &'a u32>, query: &[u32]) -> Vec<u32> {
    let total = query.iter().fold(0u32, |sum, &x| sum.wrapping_add(x));
    let centre = total.wrapping_mul(hint::CENTRE);
    sums.map(|sum| sum.wrapping_sub(centre)).collect()
}
