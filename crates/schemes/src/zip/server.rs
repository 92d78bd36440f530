//! The server of ZipPIR: `Hint` and `Response` of Algorithm 5.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, Server, Session, UpdateEstimate};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, Error, Progress, Records, Result};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;

use super::base::{Base, Changed, Selected};
use super::hint::CompressedHint;
use super::params::{ZipParams, ZipPir};
use super::wire::{Keys, Public, Ticket, ZipAnswer, ZipQuery};
use crate::shared::messages::load_seed;
use crate::shared::parameters::estimate;
use crate::shared::stored_records::check_source;

/// The matrices of the scheme below and the compressed hint. A clone shares them.
#[derive(Clone)]
pub struct ZipServer<B: Base> {
    pub(super) params: ZipParams<B>,
    pub(super) public: Public,
    pub(super) stored: B::Stored,
    pub(super) hint: CompressedHint,
}

impl<B: Base> Server<ZipPir<B>> for ZipServer<B> {
    fn setup(
        params: ZipParams<B>,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::with_seed(params, Seed::random(rng), records, progress)
    }

    fn params(&self) -> &ZipParams<B> {
        &self.params
    }

    fn public(&self) -> &Public {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, ZipPir<B>>, &ZipQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<ZipAnswer>> {
        let (compression, count) = (&self.params.compression, batch.len() as u64);
        progress.stage("session", count);
        let sessions = batch.iter().map(|(session, query)| check(session, query));
        let sessions = sessions.collect::<Result<Vec<_>>>()?;
        let queries: Vec<&ZipQuery> = batch.iter().map(|(_, query)| *query).collect();
        let parts: Vec<_> = queries.iter().map(|query| &query.parts[..]).collect();
        progress.stage(B::SELECT, count);
        let selected = self.params.base.select(&self.stored, &parts);
        progress.stage("second_product", count);
        let products = self.hint.products(compression, &queries);
        progress.stage("join", count);
        let answers = sessions.into_iter().zip(queries).zip(selected.into_iter().zip(&products));
        answers
            .map(|((session, query), (Selected { bodies, online }, products))| {
                let product = self.hint.join(compression, session, query.held, (&bodies, products))?;
                Ok(ZipAnswer { online, product })
            })
            .collect()
    }

    fn keys_fit(&self, _keys: &Keys) -> bool {
        true
    }

    fn ticket(&self, keys: &Keys, number: u64, progress: &dyn Progress) -> Result<Ticket> {
        let compression = &self.params.compression;
        let all: Vec<usize> = (0..compression.ciphertexts()).collect();
        let ciphertexts = self.hint.of_ticket(compression, keys, (number, &all), progress)?;
        Ok(Ticket { number, tag: keys.tag(), digest: self.hint.digest, ciphertexts })
    }

    /// Keeps ciphertexts with equal exponents and makes the others again.
    fn follow(
        &self,
        (earlier, mut ticket): (&Self, Ticket),
        keys: &Keys,
        number: u64,
        progress: &dyn Progress,
    ) -> Result<Ticket> {
        let compression = &self.params.compression;
        let belongs = ticket.number == number
            && ticket.tag == keys.tag()
            && ticket.digest == earlier.hint.digest
            && ticket.ciphertexts.len() == compression.ciphertexts()
            && self.hint.exponents.len() == earlier.hint.exponents.len();
        if !belongs {
            return self.ticket(keys, number, progress);
        }
        let changed = self.hint.changes_since(&earlier.hint, compression);
        let fresh = self.hint.of_ticket(compression, keys, (number, &changed), progress)?;
        for (i, ciphertext) in changed.into_iter().zip(fresh) {
            ticket.ciphertexts[i] = ciphertext;
        }
        Ok(Ticket { digest: self.hint.digest, ..ticket })
    }

    /// Includes a copy of matrices and hint, because the old version stays in use.
    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        estimate(&self.params, changes, |sizes| {
            let stored = (sizes.database + sizes.material) as f64;
            Counts::new().with(Operation::Copy, stored, 1).and(self.params.base.change_cost(changes))
        })
    }

    /// Keeps the seed; equal to a setup of the changed records with that seed, byte for byte.
    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        let ZipParams { base, compression, .. } = &self.params;
        let seed = self.public.seed;
        let changed = base.change(seed, &self.stored, changes, progress)?;
        let Some(Changed { stored, rows }) = changed else {
            return Ok(self.clone());
        };
        let row = base.hint(seed, &stored);
        let hint = match rows {
            Some(rows) => self.hint.changed(compression, &rows, row, progress)?,
            None => CompressedHint::new(compression, row, progress)?,
        };
        Ok(Self::assemble(self.params.clone(), seed, stored, hint))
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.params.base.layout().read_packed(B::database(&self.stored), (first, count), out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(B::SEED, &[&self.public.seed.0])?;
        self.params.base.save(&self.stored, sink)?;
        self.hint.save(sink)
    }

    fn load(params: ZipParams<B>, source: &dyn SectionSource) -> Result<Self> {
        let seed = load_seed(source, B::SEED)?;
        let stored = params.base.load(seed, source)?;
        let hint = CompressedHint::load(&params.compression, source)?;
        Ok(Self::assemble(params, seed, stored, hint))
    }
}

impl<B: Base> ZipServer<B> {
    /// Prepares the records with a seed.
    pub(super) fn with_seed(
        params: ZipParams<B>,
        seed: Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(B::NAME, params.shape(), records)?;
        let database = params.base.layout().encode(records, progress)?;
        let stored = params.base.prepare(seed, database, progress)?;
        let hint = CompressedHint::new(&params.compression, params.base.hint(seed, &stored), progress)?;
        Ok(Self::assemble(params, seed, stored, hint))
    }

    fn assemble(params: ZipParams<B>, seed: Seed, stored: B::Stored, hint: CompressedHint) -> Self {
        Self { public: Public { seed, digest: hint.digest }, params, stored, hint }
    }
}

/// Returns the keys and the ticket of a query's session: the client's own, with the query's number.
///
/// # Errors
/// [`Error::Session`] if they are missing, [`Error::Malformed`] if they belong to another client or
/// number.
fn check<'a, B: Base>(session: &Session<'a, ZipPir<B>>, query: &ZipQuery) -> Result<(&'a Keys, &'a Ticket)> {
    let (keys, ticket) = (session.require_keys()?, session.require_ticket()?);
    if ticket.tag != keys.tag() {
        return Err(Error::malformed("a ticket", "one of another client", "one of this client"));
    }
    if ticket.number != query.number {
        return Err(Error::malformed("a query's ticket", query.number, ticket.number));
    }
    Ok((keys, ticket))
}
