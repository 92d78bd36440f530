//! The server of SimplePIR: `Setup` and `Answer` of figure 2.

use papir_core::scheme::{Parameters, Scheme, Server, Session, UpdateEstimate};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Change, Error, Progress, Records, Result};
use papir_lattice::lwe32::{LOG2_Q, MaskProducts, round};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;

use super::noise::CENTRE;
use super::params::{SEED_BYTES, SimpleParams};
use super::wire::{SimpleAnswer, SimplePublic, SimpleQuery};
use super::{ByteMatrix, Simple, columns, masks, update};
use crate::shared::shapes::check_source;

const SEED: &str = "simple/seed";
const HINT: &str = "simple/hint";
const DATABASE: &str = "simple/database";

/// The matrix, the seed and the hint. A clone shares them.
#[derive(Clone)]
pub struct SimpleServer {
    pub(super) params: SimpleParams,
    pub(super) public: SimplePublic,
    pub(super) database: ByteMatrix,
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
        let database = columns::encode(&params.layout, records, progress)?;
        let hint = hint(&params, seed, &database, progress).into();
        Ok(Self { params, public: SimplePublic { seed, hint }, database })
    }

    fn params(&self) -> &SimpleParams {
        &self.params
    }

    fn public(&self) -> &SimplePublic {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Simple>, &SimpleQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<SimpleAnswer>> {
        let queries: Vec<&SimpleQuery> = batch.into_iter().map(|(_, query)| query).collect();
        progress.stage("answer", queries.len() as u64);
        Ok(self.sums(&queries).iter().map(|sums| self.round(sums)).collect())
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        update::cost(self, changes)
    }

    /// Keeps the public seed: byte for byte what a setup of the changed records under it gives.
    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        update::update(self, changes, progress)
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let place = (self.params.shape(), &self.params.layout);
        columns::read_packed(place, &self.database, (first, count), out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(SEED, &[&self.public.seed.0])?;
        sink.put(HINT, &[&self.public.hint])?;
        sink.put(DATABASE, &[self.database.tiles()])
    }

    fn load(params: SimpleParams, source: &dyn SectionSource) -> Result<Self> {
        let (seed, hint) = (source.get(SEED)?, source.get(HINT)?);
        Error::check_length("simple's seed", seed.len(), SEED_BYTES)?;
        Error::check_length("simple's hint", hint.len(), params.hint_bytes())?;
        let mut bytes = [0; SEED_BYTES];
        bytes.copy_from_slice(&seed);
        let database = columns::load(&params.layout, source, DATABASE)?;
        Ok(Self { params, public: SimplePublic { seed: Seed(bytes), hint }, database })
    }
}

/// H = D·A, rows × n words.
fn hint(params: &SimpleParams, seed: Seed, database: &ByteMatrix, progress: &dyn Progress) -> AlignedBytes {
    let mut hint = AlignedBytes::zeroed(params.hint_bytes());
    progress.stage("hint", database.rows() as u64);
    let products = MaskProducts::new(&params.lwe, &masks(seed), database.columns(), CENTRE);
    products.add_matrix(&params.lwe, database, hint.slice_mut(), |rows| progress.advance(rows as u64));
    hint
}

impl SimpleServer {
    /// D times each query modulo q, with centred words, in one read of the database.
    pub(super) fn sums(&self, queries: &[&SimpleQuery]) -> Vec<Vec<u32>> {
        let values: Vec<&[u32]> = queries.iter().map(|query| query.values.as_slice()).collect();
        self.database.products(&values, LOG2_Q, CENTRE)
    }

    /// Drops the low bits of each sum, rounding to nearest.
    fn round(&self, sums: &[u32]) -> SimpleAnswer {
        let dropped = self.params.budget.dropped_bits;
        SimpleAnswer { values: sums.iter().map(|&sum| round(sum, dropped).into()).collect() }
    }
}
