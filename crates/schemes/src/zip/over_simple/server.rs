//! The server of ZipPIR: `Response` of Algorithm 5, and what is prepared for it.

use papir_core::scheme::{Parameters, Server, Session, UpdateEstimate};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, Error, Progress, Records, Result};
use papir_lattice::lwe32::MaskProducts;
use papir_ring::prg::Seed;
use rand_core::CryptoRng;

use super::noise::CENTRE;
use super::params::ZipParams;
use super::wire::{ZipAnswer, ZipQuery};
use super::{ByteMatrix, Strength, Zip, masks, update};
use crate::shared::shapes::check_source;
use crate::simple::columns;
use crate::zip::compression::hint::CompressedHint;
use crate::zip::compression::params::SEED_BYTES;
use crate::zip::compression::ticket;
use crate::zip::compression::wire::{Keys, MaskedKey, Public, Ticket};

const SEED: &str = "zip/seed";
const DATABASE: &str = "zip/database";

/// The matrix and its compressed hint. A clone shares them.
#[derive(Clone)]
pub struct ZipServer<T> {
    pub(super) params: ZipParams<T>,
    pub(super) public: Public,
    pub(super) database: ByteMatrix,
    pub(super) hint: CompressedHint,
}

impl<T: Strength> Server<Zip<T>> for ZipServer<T> {
    fn setup(
        params: ZipParams<T>,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::with_seed(params, Seed::random(rng), records, progress)
    }

    fn params(&self) -> &ZipParams<T> {
        &self.params
    }

    fn public(&self) -> &Public {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Zip<T>>, &ZipQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<ZipAnswer>> {
        let count = batch.len() as u64;
        progress.stage("session", count);
        let sessions = batch.iter().map(|(session, query)| self.session(session, query));
        let sessions = sessions.collect::<Result<Vec<_>>>()?;
        let queries: Vec<&ZipQuery> = batch.into_iter().map(|(_, query)| query).collect();
        progress.stage("select", count);
        let rows = self.select(&queries);
        progress.stage("second_product", count);
        let products = self.second_products(&queries);
        progress.stage("join", count);
        let answers = sessions.into_iter().zip(&queries).zip(rows.iter().zip(&products));
        answers
            .map(|((session, query), (rows, products))| self.join(session, query, rows, products))
            .collect()
    }

    fn keys_fit(&self, _keys: &Keys) -> bool {
        true
    }

    fn ticket(&self, keys: &Keys, number: u64, progress: &dyn Progress) -> Result<Ticket> {
        self.hint.ticket(&self.params.compression, keys, number, progress)
    }

    fn follow(
        &self,
        (earlier, ticket): (&Self, Ticket),
        keys: &Keys,
        number: u64,
        progress: &dyn Progress,
    ) -> Result<Ticket> {
        self.hint.follow(&self.params.compression, (&earlier.hint, ticket), keys, number, progress)
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        update::cost(self, changes)
    }

    /// Keeps the seed: byte for byte what a setup of the changed records under it gives.
    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        update::update(self, changes, progress)
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let place = (self.params.shape(), &self.params.layout);
        columns::read_packed(place, &self.database, (first, count), out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(SEED, &[&self.public.seed.0])?;
        sink.put(DATABASE, &[self.database.tiles()])?;
        self.hint.save(sink)
    }

    fn load(params: ZipParams<T>, source: &dyn SectionSource) -> Result<Self> {
        let seed = source.get(SEED)?;
        Error::check_length("zip's seed", seed.len(), SEED_BYTES)?;
        let mut bytes = [0; SEED_BYTES];
        bytes.copy_from_slice(&seed);
        let hint = CompressedHint::load(&params.compression, source)?;
        let database = columns::load(&params.layout, source, DATABASE)?;
        Ok(Self { public: Public { seed: Seed(bytes), digest: hint.digest }, params, database, hint })
    }
}

impl<T: Strength> ZipServer<T> {
    /// Everything that follows from the seed and the records.
    pub(super) fn with_seed(
        params: ZipParams<T>,
        seed: Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(T::ZIP.0, params.shape(), records)?;
        let database = columns::encode(&params.layout, records, progress)?;
        let rows = hint_rows(&params, seed, &database);
        let hint = CompressedHint::new(&params.compression, rows, progress)?;
        Ok(Self { public: Public { seed, digest: hint.digest }, params, database, hint })
    }

    /// The keys and the ticket of a query's session: the client's own, of the query's number.
    ///
    /// # Errors
    /// [`Error::Session`] without them, [`Error::Malformed`] for others.
    pub fn session<'a>(
        &self,
        session: &Session<'a, Zip<T>>,
        query: &ZipQuery,
    ) -> Result<(&'a Keys, &'a Ticket)> {
        ticket::check(session, &query.key)
    }

    /// Line 17, D·qu_0 modulo q for each query, with centred words, in one read of the database.
    pub fn select(&self, queries: &[&ZipQuery]) -> Vec<Vec<u32>> {
        let values: Vec<&[u32]> = queries.iter().map(|query| query.values.as_slice()).collect();
        let mut rows = self.database.products(&values, self.params.query_bits(), CENTRE);
        // Modulo q again.
        rows.iter_mut().flatten().for_each(|sum| *sum <<= self.params.budget.dropped_bits);
        rows
    }

    /// Line 18, H·ck_o of each query over the integers, ciphertext by ciphertext, in one read of the hint.
    pub fn second_products(&self, queries: &[&ZipQuery]) -> Vec<Vec<Vec<u64>>> {
        let keys: Vec<&MaskedKey> = queries.iter().map(|query| &query.key).collect();
        self.hint.products(&self.params.compression, &keys)
    }

    /// Line 18's sum, added to the ticket's ciphertexts: the words of D·qu_0 in their slots, and the second
    /// product.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a ticket that this key did not make.
    pub fn join(
        &self,
        session: (&Keys, &Ticket),
        query: &ZipQuery,
        rows: &[u32],
        products: &[Vec<u64>],
    ) -> Result<ZipAnswer> {
        let product = self.hint.join(&self.params.compression, session, &query.key, (rows, products))?;
        Ok(ZipAnswer(product))
    }
}

/// H = D·A, row by row.
pub(super) fn hint_rows<T: Strength>(
    params: &ZipParams<T>,
    seed: Seed,
    database: &ByteMatrix,
) -> impl Fn(usize) -> Vec<u32> + Sync {
    let lwe = &params.compression.lwe;
    let products = MaskProducts::new(lwe, &masks(seed), database.columns(), CENTRE);
    move |row| {
        let mut bytes = vec![0; database.columns()];
        database.read_row(row, &mut bytes);
        products.of_row(lwe, &bytes)
    }
}
