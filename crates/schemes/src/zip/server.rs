//! The server of ZipPIR: `Response` of Algorithm 5, and the preparation for it.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, Server, Session, UpdateEstimate, check_changes};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, Progress, Records, Result};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;

use super::base::{Base, Changed, Selected};
use super::hint::CompressedHint;
use super::params::{ZipParams, ZipPir};
use super::ticket;
use super::wire::{Keys, MaskedKey, Public, Ticket, ZipAnswer, ZipQuery};
use crate::shared::messages::load_seed;
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
        let count = batch.len() as u64;
        progress.stage("session", count);
        let sessions = batch.iter().map(|(session, query)| ticket::check(session, &query.key));
        let sessions = sessions.collect::<Result<Vec<_>>>()?;
        let (keys, parts): (Vec<&MaskedKey>, Vec<_>) =
            batch.iter().map(|(_, query)| (&query.key, &query.parts[..])).unzip();
        progress.stage(B::SELECT, count);
        let selected = self.params.base.select(&self.stored, &parts);
        progress.stage("second_product", count);
        let products = self.hint.products(&self.params.compression, &keys);
        progress.stage("join", count);
        let answers = sessions.into_iter().zip(keys).zip(selected.into_iter().zip(&products));
        answers
            .map(|((session, key), (Selected { bodies, online }, products))| {
                let product = self.hint.join(&self.params.compression, session, key, (&bodies, products))?;
                Ok(ZipAnswer { online, product })
            })
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

    /// Includes a copy of matrices and hint, because the old version stays in use.
    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        check_changes(&self.params.shape(), changes)?;
        let description = self.params.describe();
        let stored = (description.sizes.database + description.sizes.material) as f64;
        let update = match self.params.base.change_cost(changes) {
            Some(products) => Counts::new().with(Operation::Copy, stored, 1).and(products),
            None => Counts::new(),
        };
        Ok(UpdateEstimate { update, setup: description.work.setup })
    }

    /// Keeps the seed; equal to a setup of the changed records with that seed, byte for byte.
    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        let ZipParams { base, compression, .. } = &self.params;
        let seed = self.public.seed;
        let changed = base.change(self.params.shape(), seed, &self.stored, changes, progress)?;
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
        self.params.base.read_packed(self.params.shape(), &self.stored, (first, count), out)
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
        let stored = params.base.encode(seed, records, progress)?;
        let hint = CompressedHint::new(&params.compression, params.base.hint(seed, &stored), progress)?;
        Ok(Self::assemble(params, seed, stored, hint))
    }

    fn assemble(params: ZipParams<B>, seed: Seed, stored: B::Stored, hint: CompressedHint) -> Self {
        Self { public: Public { seed, digest: hint.digest }, params, stored, hint }
    }
}
