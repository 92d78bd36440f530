//! Server of ZipPIR: `Hint` and `Response` of Algorithm 5.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{
    EarlierTicket, Parameters, RegisteredServer, Server, Session, UpdateEstimate,
};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, Error, Progress, Records, Result};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;

use super::base::{Base, Changed, Selected};
use super::hint::{CompressedHint, Masks, TicketHolder};
use super::params::{ZipParams, ZipPir};
use super::wire::{HintProduct, Keys, Public, Ticket, ZipAnswer, ZipQuery};
use crate::shared::messages::load_seed;
use crate::shared::parameters::estimate;
use crate::shared::stored_records::check_source;

/// A prepared database: the matrices of the scheme below, and the compressed hint. A clone shares
/// them.
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
        let compression = &self.params.compression;
        let count = batch.len() as u64;

        // Before the products: a stranger's query must not cost the server work.
        progress.stage("session", count);
        let callers = batch.iter().map(|(session, query)| check(session, query));
        let callers = callers.collect::<Result<Vec<_>>>()?;
        let queries: Vec<&ZipQuery> = batch.iter().map(|(_, query)| *query).collect();

        progress.stage(B::SELECT, count);
        let mut selected = self.select(&queries).into_iter();

        progress.stage("second_product", count);
        let offsets: Vec<_> = queries
            .iter()
            .filter_map(|query| query.offsets.as_deref())
            .collect();
        let mut products = self.hint.products(compression, &offsets).into_iter();

        progress.stage("join", count);
        let mut answers = Vec::with_capacity(queries.len());
        for (caller, query) in callers.into_iter().zip(queries) {
            // Only queries with a half have a result for it.
            let rows = query.parts.as_ref().and_then(|_| selected.next());
            let product = query.offsets.as_ref().and_then(|_| products.next());
            answers.push(self.answer_one(caller, rows, product)?);
        }
        Ok(answers)
    }

    /// Estimates an update. It includes a copy of matrices and hint, because the old version stays
    /// in use.
    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        estimate(&self.params, changes, |sizes| {
            let stored = (sizes.database + sizes.material) as f64;
            Counts::new()
                .with(Operation::Copy, stored, 1)
                .and(self.params.base.change_cost(changes))
        })
    }

    /// Applies changes. The update keeps the seed and gives the same bytes as a setup of the
    /// changed records with that seed.
    fn update(
        &self,
        changes: &[Change],
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let ZipParams {
            base, compression, ..
        } = &self.params;
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
        self.params
            .base
            .layout()
            .read_packed(B::database(&self.stored), (first, count), out)
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

impl<B: Base> RegisteredServer<ZipPir<B>> for ZipServer<B> {
    fn ticket(
        &self,
        keys: &Keys,
        number: u64,
        earlier: Option<EarlierTicket<'_, ZipPir<B>>>,
        progress: &dyn Progress,
    ) -> Result<Ticket> {
        // A ticket of other keys or another version has nothing in common with the new one.
        match earlier.filter(|earlier| self.can_follow(earlier, keys, number)) {
            Some(earlier) => self.followed(earlier, keys, progress),
            None => self.fresh_ticket(keys, number, progress),
        }
    }
}

impl<B: Base> ZipServer<B> {
    /// Prepares all ciphertexts of a ticket.
    fn fresh_ticket(&self, keys: &Keys, number: u64, progress: &dyn Progress) -> Result<Ticket> {
        let compression = &self.params.compression;
        let masks = Masks { keys, number };
        let all: Vec<usize> = (0..compression.ciphertexts()).collect();
        let ciphertexts = self.hint.of_ticket(compression, masks, &all, progress)?;

        Ok(Ticket {
            number,
            tag: keys.tag(),
            digest: self.hint.digest,
            ciphertexts,
        })
    }

    /// Returns true if an earlier ticket has these keys and this number, and a hint like this one.
    fn can_follow(&self, earlier: &EarlierTicket<'_, ZipPir<B>>, keys: &Keys, number: u64) -> bool {
        let EarlierTicket { server, ticket } = earlier;
        ticket.number == number
            && ticket.tag == keys.tag()
            && ticket.digest == server.hint.digest
            && ticket.ciphertexts.len() == self.params.compression.ciphertexts()
            && self.hint.exponents.len() == server.hint.exponents.len()
    }

    /// The ticket of an earlier version for this one. Keeps ciphertexts with equal exponents. If
    /// few rows of a ciphertext changed, multiplies the difference in; otherwise makes it anew.
    fn followed(
        &self,
        earlier: EarlierTicket<'_, ZipPir<B>>,
        keys: &Keys,
        progress: &dyn Progress,
    ) -> Result<Ticket> {
        let EarlierTicket { server, mut ticket } = earlier;
        let masks = Masks {
            keys,
            number: ticket.number,
        };

        self.hint.follow(
            &self.params.compression,
            &server.hint,
            masks,
            &mut ticket.ciphertexts,
            progress,
        )?;
        Ok(Ticket {
            digest: self.hint.digest,
            ..ticket
        })
    }
}

impl<B: Base> ZipServer<B> {
    /// Answers one query from the results for its halves. A query without parts selects no row, and
    /// all its words are zeros.
    fn answer_one(
        &self,
        caller: Option<TicketHolder<'_>>,
        rows: Option<Selected>,
        product: Option<Vec<Vec<u64>>>,
    ) -> Result<ZipAnswer> {
        let compression = &self.params.compression;

        let (words, online) = match rows {
            Some(Selected { bodies, online }) => (self.hint.words(compression, &bodies), online),
            None => (
                vec![0; compression.rows],
                vec![0; self.params.base.figures().online_words],
            ),
        };

        let product = match caller.zip(product) {
            Some((caller, product)) => {
                HintProduct::Joined(self.hint.join(compression, caller, &words, &product)?)
            }
            None => HintProduct::Words(words),
        };
        Ok(ZipAnswer { online, product })
    }

    /// Selects rows for the queries that have parts.
    fn select(&self, queries: &[&ZipQuery]) -> Vec<Selected> {
        let parts: Vec<_> = queries
            .iter()
            .filter_map(|query| query.parts.as_deref())
            .collect();
        if parts.is_empty() {
            return Vec::new();
        }
        self.params.base.select(&self.stored, &parts)
    }

    /// Prepares the records under the given seed.
    pub(super) fn with_seed(
        params: ZipParams<B>,
        seed: Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(B::NAME, params.shape(), records)?;
        let database = params.base.layout().encode(records, progress)?;
        let stored = params.base.prepare(seed, database, progress)?;

        let row = params.base.hint(seed, &stored);
        let hint = CompressedHint::new(&params.compression, row, progress)?;
        Ok(Self::assemble(params, seed, stored, hint))
    }

    fn assemble(params: ZipParams<B>, seed: Seed, stored: B::Stored, hint: CompressedHint) -> Self {
        Self {
            public: Public {
                seed,
                digest: hint.digest,
            },
            params,
            stored,
            hint,
        }
    }
}

/// Returns the keys and the ticket of a query's session, which must belong to one client and to the
/// query's number. Returns `None` for a query whose key was sent ahead.
fn check<'a, B: Base>(
    session: &Session<'a, ZipPir<B>>,
    query: &ZipQuery,
) -> Result<Option<TicketHolder<'a>>> {
    if query.offsets.is_none() {
        return Ok(None);
    }

    let keys = session.require_keys()?;
    let ticket = session.require_ticket()?;
    if ticket.tag != keys.tag() {
        return Err(Error::malformed(
            "a ticket",
            "one of another client",
            "one of this client",
        ));
    }
    if ticket.number != query.number {
        return Err(Error::malformed(
            "a query's ticket",
            query.number,
            ticket.number,
        ));
    }

    Ok(Some(TicketHolder { keys, ticket }))
}
