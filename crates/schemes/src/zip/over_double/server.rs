//! The server of ZipPIR on DoublePIR.

use papir_core::scheme::{Parameters, Server, Session, UpdateEstimate};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{BlobSlice, Change, Error, Progress, Records, Result};
use papir_lattice::lwe32::MaskProducts;
use papir_ring::prg::Seed;
use rand_core::CryptoRng;

use super::params::ZipDoubleParams;
use super::wire::{ZipDoubleAnswer, ZipDoubleQuery};
use super::{ZipDouble, second_masks, update};
use crate::double::digits;
use crate::double::first::{self, ByteMatrix, FirstLevel, first_masks};
use crate::double::second::{Ciphertexts, SecondLevel, digit_rows};
use crate::double::server::stored;
use crate::shared::shapes::check_source;
use crate::zip::compression::Strength;
use crate::zip::compression::hint::CompressedHint;
use crate::zip::compression::params::SEED_BYTES;
use crate::zip::compression::slots::centred_row;
use crate::zip::compression::ticket;
use crate::zip::compression::wire::{Keys, MaskedKey, Public, Ticket};

const SEED: &str = "zipdouble/seed";
const DATABASE: &str = "zipdouble/database";
const DIGITS: &str = "zipdouble/digits";
const MASKS: &str = "zipdouble/masks";

/// Both levels, and the second one's compressed hint. A clone shares them.
#[derive(Clone)]
pub struct ZipDoubleServer<T> {
    pub(super) params: ZipDoubleParams<T>,
    pub(super) public: Public,
    pub(super) first: FirstLevel,
    pub(super) second: SecondLevel,
    pub(super) hint: CompressedHint,
}

impl<T: Strength> Server<ZipDouble<T>> for ZipDoubleServer<T> {
    fn setup(
        params: ZipDoubleParams<T>,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(T::ZIP_DOUBLE.0, params.shape(), records)?;
        let database = first::encode(&params.layout, records, progress)?;
        Self::prepare(params, Seed::random(rng), database, progress)
    }

    fn params(&self) -> &ZipDoubleParams<T> {
        &self.params
    }

    fn public(&self) -> &Public {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, ZipDouble<T>>, &ZipDoubleQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<ZipDoubleAnswer>> {
        let count = batch.len() as u64;
        progress.stage("session", count);
        let sessions = batch.iter().map(|(session, query)| self.session(session, query));
        let sessions = sessions.collect::<Result<Vec<_>>>()?;
        let queries: Vec<&ZipDoubleQuery> = batch.into_iter().map(|(_, query)| query).collect();
        progress.stage("levels", count);
        let rows = self.levels(&queries);
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
        let (layout, shape) = (&self.params.layout, self.params.shape());
        first::read_packed(layout, shape, &self.first.database, (first, count), out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(SEED, &[&self.public.seed.0])?;
        sink.put(DATABASE, &[self.first.database.tiles()])?;
        sink.put(DIGITS, &[self.second.digits.tiles()])?;
        sink.put(MASKS, &[self.second.masks.bytes()])?;
        self.hint.save(sink)
    }

    fn load(params: ZipDoubleParams<T>, source: &dyn SectionSource) -> Result<Self> {
        let (seed, layout, lwe) = (source.get(SEED)?, &params.layout, &params.compression.lwe);
        Error::check_length("zipdouble's seed", seed.len(), SEED_BYTES)?;
        let mut bytes = [0; SEED_BYTES];
        bytes.copy_from_slice(&seed);
        let seed = Seed(bytes);
        let database = stored("zipdouble's database", source.get(DATABASE)?, layout.rows(), layout.columns)?;
        let digits = stored("zipdouble's digits", source.get(DIGITS)?, digit_rows(layout), layout.units)?;
        let masks = BlobSlice::new(source.get(MASKS)?, "zipdouble's masks")?;
        // As long as the digits that are there are wide.
        let products = MaskProducts::new(lwe, &second_masks(seed), layout.units, digits::CENTRE);
        let second = SecondLevel::from_parts(lwe, layout, digits, products, masks)?;
        let hint = CompressedHint::load(&params.compression, source)?;
        Ok(Self::assemble(params, seed, database, second, hint))
    }
}

impl<T: Strength> ZipDoubleServer<T> {
    /// Everything that follows from the seed and D.
    pub(super) fn prepare(
        params: ZipDoubleParams<T>,
        seed: Seed,
        database: ByteMatrix,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let first = FirstLevel { database, masks: first_masks(seed) };
        let mut hint = first.hint(&params.lwe, progress);
        let (lwe, masks) = (&params.compression.lwe, second_masks(seed));
        let second = SecondLevel::new(lwe, &params.layout, hint.slice_mut(), &masks, progress)?;
        Self::compress(params, seed, first.database, second, progress)
    }

    /// The second level's hint, compressed.
    pub(super) fn compress(
        params: ZipDoubleParams<T>,
        seed: Seed,
        database: ByteMatrix,
        second: SecondLevel,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let n = params.compression.n();
        let row = |row: usize| second.masks[row * n..][..n].to_vec();
        let hint = CompressedHint::new(&params.compression, row, progress)?;
        Ok(Self::assemble(params, seed, database, second, hint))
    }

    fn assemble(
        params: ZipDoubleParams<T>,
        seed: Seed,
        database: ByteMatrix,
        second: SecondLevel,
        hint: CompressedHint,
    ) -> Self {
        let first = FirstLevel { database, masks: first_masks(seed) };
        Self { public: Public { seed, digest: hint.digest }, params, first, second, hint }
    }

    /// The keys and the ticket of a query's session: the client's own, of the query's number.
    ///
    /// # Errors
    /// [`Error::Session`] without them, [`Error::Malformed`] for others.
    pub fn session<'a>(
        &self,
        session: &Session<'a, ZipDouble<T>>,
        query: &ZipDoubleQuery,
    ) -> Result<(&'a Keys, &'a Ticket)> {
        ticket::check(session, &query.key)
    }

    /// DoublePIR's two levels for each query, in one read of database and digits.
    pub fn levels(&self, queries: &[&ZipDoubleQuery]) -> Vec<Ciphertexts> {
        let of =
            |part: fn(&ZipDoubleQuery) -> &[u32]| queries.iter().map(|query| part(query)).collect::<Vec<_>>();
        let budget = &self.params.budget;
        let firsts = self.first.answers(&of(|query| &query.first), budget.first_bits);
        let lwe = &self.params.compression.lwe;
        self.second.answers(lwe, &of(|query| &query.second), budget.second_bits, &firsts)
    }

    /// The second level's hint times each query's offsets, in one read of it.
    pub fn second_products(&self, queries: &[&ZipDoubleQuery]) -> Vec<Vec<Vec<u64>>> {
        let keys: Vec<&MaskedKey> = queries.iter().map(|query| &query.key).collect();
        self.hint.products(&self.params.compression, &keys)
    }

    /// The bodies of the first hint's digits, added to the ticket's ciphertexts with the second product, and
    /// the first answer's ciphertexts in units.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a ticket that this key did not make.
    pub fn join(
        &self,
        session: (&Keys, &Ticket),
        query: &ZipDoubleQuery,
        Ciphertexts { bodies, masks }: &Ciphertexts,
        products: &[Vec<u64>],
    ) -> Result<ZipDoubleAnswer> {
        let compression = &self.params.compression;
        let (offline, online) = bodies.split_at(compression.rows);
        let rows = masks.chunks_exact(compression.n()).zip(online);
        let online = rows.flat_map(|(mask, body)| centred_row(mask, *body)).collect();
        let product = self.hint.join(compression, session, &query.key, (offline, products))?;
        Ok(ZipDoubleAnswer { online, product })
    }
}
