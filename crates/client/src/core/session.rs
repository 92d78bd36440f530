//! Session with one database: lookups, version changes, registration.

use std::sync::Arc;
use std::time::Duration;

use papir_checkpoint::Accepted;
use papir_core::Version;
use papir_core::erased::ErasedState;
use papir_lookup::{Lookup, Pending, Wanted};
use papir_protocol::{DatabaseInfo, code, path};

use super::checkpoints::{Keeping, OwnerTrust};
use super::costs::Costs;
use super::fetch::{self, Fetched, Origin, explain_unknown};
use super::first_version::{
    ChosenDatabase, FirstVersion, MAX_CHANGES, choose_database, first_version,
};
use super::kept::{self, NewVersion};
use super::key_sender::Context;
use super::lookups::{self, AnsweredLookups, FoundValue};
use super::outgoing::Outgoing;
use super::pins::NamePin;
use super::queries::{QueryReply, QueryRequest};
use super::registration::{Registration, StateWork};
use super::service::Service;
use super::settings::Settings;
use super::task::{Io, Task};
use crate::error::{Error, Result};

/// A private client of one database of a service. A clone shares the public part. It counts its own
/// costs, starting from the costs of the original.
#[derive(Clone)]
pub struct Session {
    pub(super) service: Service,
    pub(super) settings: Settings,
    pub(super) name: String,
    pub(super) info: DatabaseInfo,
    pub(super) lookup: Lookup,
    pub(super) costs: Costs,
    pub(super) trust: OwnerTrust,
    /// The registration, in schemes with client keys; `None` before the first lookup of a version.
    pub(super) registration: Option<Registration>,
    /// The platform's time at the last request for the newest version.
    pub(super) seen: Duration,
    /// Set if any version of this session had a delta.
    pub(super) had_delta: bool,
    /// Set if this session has pinned the database's name, or has found it pinned.
    pub(super) named: bool,
    /// Set while the lookups are those of a schedule.
    pub(super) scheduled: bool,
}

/// The outcome of one exchange with the service.
enum Exchanged<'a> {
    /// The answered lookups, and the remaining lookups, which did not fit into the request.
    Done(AnsweredLookups, &'a [Wanted<'a>]),
    /// The service does not answer this version. Contains the refusal.
    VersionChanged(Error),
    /// The service has no client with this id any more, or the client's ticket was used. Contains
    /// the refusal.
    ClientGone(String, Error),
}

/// Queries ready to be sent.
struct PreparedQueries {
    /// The registered client's id; `None` in schemes without client keys.
    client: Option<String>,
    batch: LookupBatch,
    /// Time spent waiting for tickets.
    waited: Duration,
}

/// Queries for the first of the wanted lookups.
struct LookupBatch {
    lookups: Pending,
    /// The number of lookups.
    count: usize,
}

impl Session {
    /// Connects to a database, fetches its public part, and verifies it under the settings.
    ///
    /// # Errors
    /// [`Error::NoSuchDatabase`], [`Error::ChooseDatabase`], errors of the network and of the
    /// storage; [`Error::NoCheckpoint`], [`Error::Checkpoint`], [`Error::Root`] and
    /// [`Error::OtherName`] if the database does not verify; [`Error::TooLarge`]; [`Error::Core`]
    /// if the public part is damaged or its scheme is unknown or not private.
    pub fn open(service: Service, settings: Settings) -> Task<'static, Result<Self>> {
        Task::new(|io| async move {
            let session = Self::connect(&io, service, settings).await?;
            session.check_trust()?;
            Ok(session)
        })
    }

    /// [`Session::open`], also of an unsigned database that several servers have.
    pub(crate) async fn connect(io: &Io, service: Service, settings: Settings) -> Result<Self> {
        let service = service.of_session(&settings);
        match Self::connect_to(io, service.clone(), settings.clone()).await {
            Err(error) => Err(explain_unknown(io, &service, &settings, error).await),
            connected => connected,
        }
    }

    async fn connect_to(io: &Io, service: Service, mut settings: Settings) -> Result<Self> {
        let ChosenDatabase { name, mut trust } = choose_database(io, &service, &settings).await?;
        let mut costs = Costs::default();
        let FirstVersion { info, lookup, seen } =
            first_version(io, &service, &name, &mut settings, &mut trust, &mut costs).await?;

        let had_delta = info.delta.is_some();
        let mut session = Self {
            service,
            settings,
            name,
            info,
            lookup,
            costs,
            trust,
            registration: None,
            seen,
            had_delta,
            named: false,
            scheduled: false,
        };

        // Pinned last: only a version that was accepted tells what the name protects.
        let pin = NamePin::of_service(io, &session.service, &session.settings);
        session.keep_name(&pin).await?;
        session.named = session.protects_name();
        session.keep_version(io).await?;

        // Renewed once: the next version that this session keeps must not drop lookups whose
        // queries it has made meanwhile.
        session.settings.known = session.settings.known.after_first_version();
        Ok(session)
    }

    /// Keeps the version for later sessions, if the settings say so.
    async fn keep_version(&self, io: &Io) -> Result<()> {
        let version = NewVersion {
            name: &self.name,
            info: &self.info,
            owner: self.trust.pinned(),
            accepted: self.trust.accepted.as_ref(),
        };
        kept::keep(io, &self.service, &self.settings, version).await
    }

    /// Checks the database's name against the pinned one. Pins it if a signature or a root depends
    /// on it.
    pub(crate) async fn keep_name(&self, pin: &NamePin<'_>) -> Result<()> {
        if self.protects_name() {
            pin.keep(&self.name).await
        } else {
            pin.check(&self.name).await
        }
    }

    /// Returns true if the database is signed or has a trusted root: their pins depend on its name.
    pub(super) fn protects_name(&self) -> bool {
        self.trust.is_signed() || self.settings.root.is_some()
    }

    /// The service.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// The server's description of the database.
    pub fn info(&self) -> &DatabaseInfo {
        &self.info
    }

    /// The lookup client of the current version, which knows its sizes, security and parameters.
    pub fn lookup(&self) -> &Lookup {
        &self.lookup
    }

    /// The owner's checkpoint of the current version; `None` if the database is not signed.
    pub fn checkpoint(&self) -> Option<&Accepted> {
        self.trust.accepted.as_ref()
    }

    /// The costs since the session was opened.
    pub fn costs(&self) -> Costs {
        let sent = self
            .registration
            .as_ref()
            .map_or(0, Registration::sent_bytes);
        Costs {
            registration_bytes: self.costs.registration_bytes + sent,
            ..self.costs
        }
    }

    /// In schemes with client keys, registers with the service or resumes the saved registration.
    /// If the database changes meanwhile, it starts again from the new public part, at most six
    /// times.
    ///
    /// # Errors
    /// Errors of the network, of the service and of client state.
    pub fn register(&mut self) -> Task<'_, Result<()>> {
        Task::new(|io| async move { self.ensure_registered(&io).await })
    }

    /// Does in advance the work of `lookups` lookups that does not depend on the keys or indices.
    /// Sends nothing except a missing registration.
    ///
    /// # Errors
    /// Errors of the network and of client state.
    pub fn prepare_ahead(&mut self, lookups: usize) -> Task<'_, Result<()>> {
        Task::new(move |io| async move { self.prepare_lookups(&io, lookups).await })
    }

    pub(crate) async fn prepare_lookups(&mut self, io: &Io, lookups: usize) -> Result<()> {
        self.ensure_registered(io).await?;
        let queries = self.lookup.queries_of(lookups);
        match &self.registration {
            Some(registration) => registration.prepare(self.context(io), queries).await,
            None => Ok(()),
        }
    }

    /// Sends queries, and adds the request to the costs.
    pub(super) async fn send_queries(
        &mut self,
        io: &Io,
        request: &QueryRequest<'_>,
    ) -> Result<QueryReply> {
        // Before it is sent: a request that fails was seen by the service, too.
        self.costs.requests += 1;
        self.costs.query_bytes += request.queries.len() as u64;
        self.service
            .query(io, &path::query(&self.name), request)
            .await
    }

    /// Looks up keys or indices. Returns their values in order, `None` for absent keys. The server
    /// learns the number of lookups.
    ///
    /// # Errors
    /// Errors of the network, of the service, of client state and of [`Pending::finish_all`]. One
    /// failure fails all lookups.
    pub fn get<'s>(
        &'s mut self,
        wanted: &'s [Wanted<'s>],
    ) -> Task<'s, Result<Vec<Option<Vec<u8>>>>> {
        Task::new(move |io| async move { self.look_up(&io, wanted).await })
    }

    /// Like [`Session::get`], with an outcome for each lookup. The requests are the same. An index
    /// beyond the last record, and a record that does not verify, fail their own lookups only.
    ///
    /// # Errors
    /// Errors of the network, of the service and of client state, and of answers that do not
    /// decode. They fail all lookups.
    pub fn get_each<'s>(
        &'s mut self,
        wanted: &'s [Wanted<'s>],
    ) -> Task<'s, Result<Vec<FoundValue>>> {
        Task::new(move |io| async move { self.look_up_each(&io, wanted).await })
    }

    /// [`Session::look_up_each`], whose first error fails all lookups.
    pub(crate) async fn look_up(
        &mut self,
        io: &Io,
        wanted: &[Wanted<'_>],
    ) -> Result<Vec<Option<Vec<u8>>>> {
        self.look_up_each(io, wanted).await?.into_iter().collect()
    }

    /// Looks up keys or indices at the service. Sends all requests, and decodes answers only after
    /// the last one has arrived, so that the traffic does not depend on whether answers decode.
    pub(super) async fn ask_each(
        &mut self,
        io: &Io,
        wanted: &[Wanted<'_>],
    ) -> Result<Vec<FoundValue>> {
        self.ensure_registered(io).await?;

        let mut answered = Vec::new();
        let mut left = wanted;
        while !left.is_empty() {
            // The number of requests depends on the number of lookups and on public sizes, and not
            // on what is looked up.
            let (batch, rest) = self.exchange(io, left).await?;
            answered.push(batch);
            left = rest;
        }

        let start = self.service.platform.now();
        // Decode all answers before returning an error: the time must not depend on which one
        // fails.
        let decoded: Vec<Result<_>> = answered.into_iter().map(AnsweredLookups::decode).collect();
        self.costs.extract += self.service.platform.now().saturating_sub(start);

        let batches = decoded.into_iter().collect::<Result<Vec<_>>>()?;
        Ok(batches.into_iter().flatten().collect())
    }

    /// Sends one request for the first lookups of `wanted`, up to the number that fits. Returns
    /// them with the remaining lookups.
    ///
    /// If the database changes, it starts again from the new public part, at most [`MAX_CHANGES`]
    /// times. If the service has no such client any more, it registers again, once. Both use fresh
    /// queries. The number of requests depends on the server alone, not on the lookups.
    async fn exchange<'a>(
        &mut self,
        io: &Io,
        wanted: &'a [Wanted<'a>],
    ) -> Result<(AnsweredLookups, &'a [Wanted<'a>])> {
        let mut changes = 0;
        let mut registered_again = false;

        loop {
            match self.try_exchange(io, wanted).await? {
                Exchanged::Done(answered, rest) => return Ok((answered, rest)),
                Exchanged::VersionChanged(refusal) if changes < MAX_CHANGES => {
                    self.follow_change(io, changes, &refusal).await?;
                    changes += 1;
                }
                Exchanged::ClientGone(client, refusal)
                    // Once: a service that forgets every client would otherwise get keys for ever.
                    if !registered_again || refusal.code() == code::TICKET_USED =>
                {
                    match self.replace_client(io, &client, refusal).await {
                        Err(error) if error.is_version_change() && changes < MAX_CHANGES => {
                            self.follow_change(io, changes, &error).await?;
                            changes += 1;
                        }
                        replaced => replaced?,
                    }
                    registered_again = true;
                }
                Exchanged::VersionChanged(refusal) | Exchanged::ClientGone(_, refusal) => {
                    return Err(refusal);
                }
            }
        }
    }

    async fn try_exchange<'a>(
        &mut self,
        io: &Io,
        wanted: &'a [Wanted<'a>],
    ) -> Result<Exchanged<'a>> {
        // With more tickets, more lookups fit into each request.
        if let Some(registration) = &self.registration
            && wanted.len() > self.lookups_per_request()
        {
            registration.learn_tickets_ahead(self.context(io)).await?;
        }

        // Read again: the tickets that were just learnt count.
        let most = self.lookups_per_request().min(wanted.len());
        let PreparedQueries { client, batch, .. } = match self.prepare(io, &wanted[..most]).await {
            // Another process has stored state for a newer version, or has removed the state, and
            // the new registration found a newer version.
            Err(error) if error.is_version_change() => {
                return Ok(Exchanged::VersionChanged(error));
            }
            prepared => prepared?,
        };
        let LookupBatch { lookups, count } = batch;
        let rest = &wanted[count..];

        let outgoing = self.outgoing(client.as_deref(), lookups.queries())?;
        let request = QueryRequest {
            version: self.lookup.version(),
            client: client.as_deref(),
            tickets: lookups.tickets(),
            queries: Arc::clone(&outgoing.bytes),
            is_short: outgoing.is_short(),
            limit: lookups::longest(&lookups.answers()),
        };
        let start = self.service.platform.now();
        let reply = self.send_queries(io, &request).await;
        self.costs.round_trip += self.service.platform.now().saturating_sub(start);

        Ok(match reply? {
            // The queries are spent: the lookups are prepared anew under the next version.
            QueryReply::WrongVersion(refusal) => Exchanged::VersionChanged(refusal),
            QueryReply::ClientGone(refusal) => {
                Exchanged::ClientGone(client.unwrap_or_default(), refusal)
            }
            QueryReply::Answers(answers) => {
                self.costs.answer_bytes += answers.len() as u64;
                let answered = AnsweredLookups {
                    answers: outgoing.restore(answers, &lookups.answers())?,
                    pending: lookups,
                };
                Exchanged::Done(answered, rest)
            }
        })
    }

    /// The queries as they are sent: a short message of a registered client, if the service takes
    /// it. Not through a relay, whose messages have one length.
    fn outgoing(&self, client: Option<&str>, queries: &[Vec<u8>]) -> Result<Outgoing> {
        let is_short = self.info.short_messages && self.service.is_direct();
        Outgoing::new(queries, client.filter(|_| is_short))
    }

    /// Makes queries once the service has their tickets. While there are held keys, it makes only
    /// queries with held keys, even if more queries fit. The changes of the client's state are
    /// durable on return.
    async fn prepare(&mut self, io: &Io, wanted: &[Wanted<'_>]) -> Result<PreparedQueries> {
        let start = self.service.platform.now();
        let prepared = self.prepare_queries(io, wanted).await;

        // A wait for tickets is time of the service, so that it counts as a round trip.
        let waited = match &prepared {
            Ok(prepared) => prepared.waited,
            Err(_) => Duration::ZERO,
        };
        let spent = self.service.platform.now().saturating_sub(start);
        self.costs.query += spent.saturating_sub(waited);
        self.costs.round_trip += waited;
        prepared
    }

    async fn prepare_queries(&self, io: &Io, wanted: &[Wanted<'_>]) -> Result<PreparedQueries> {
        let Some(registration) = &self.registration else {
            return Ok(PreparedQueries {
                client: None,
                batch: self.make_batch(None, wanted)?,
                waited: Duration::ZERO,
            });
        };

        let made = registration
            .with_state(
                self.context(io),
                |held| self.tickets_for(wanted.len(), held),
                |state| self.make_registered_batch(state, wanted),
            )
            .await?;
        Ok(PreparedQueries {
            client: Some(made.client),
            batch: made.value,
            waited: made.waited,
        })
    }

    /// The number of tickets for `lookups` lookups of a client with `held` held keys.
    fn tickets_for(&self, lookups: usize, held: usize) -> usize {
        if held > 0 {
            0
        } else {
            self.lookup.queries_of(lookups)
        }
    }

    /// Makes queries of a registered client. If it has held keys, it makes only queries with them.
    fn make_registered_batch(
        &self,
        state: &mut ErasedState,
        wanted: &[Wanted<'_>],
    ) -> Result<StateWork<LookupBatch>> {
        let registered = self.lookup.client().require_registered()?;
        let held = self.lookup.lookups_in(registered.numbers(state)?.held);
        let wanted = if held > 0 {
            &wanted[..held.min(wanted.len())]
        } else {
            wanted
        };

        let value = self.make_batch(Some(state), wanted)?;
        Ok(StateWork {
            made: value.lookups.queries().len(),
            value,
        })
    }

    fn make_batch(
        &self,
        state: Option<&mut ErasedState>,
        wanted: &[Wanted<'_>],
    ) -> Result<LookupBatch> {
        let platform = &self.service.platform;
        let lookups = self
            .lookup
            .prepare_batch(state, wanted, &mut *platform.rng())?;
        Ok(LookupBatch {
            lookups,
            count: wanted.len(),
        })
    }

    /// Maximum number of keys or indices in one request, at least 1.
    fn lookups_per_request(&self) -> usize {
        let registration = self.registration.as_ref();
        let queries = registration.map_or(usize::MAX, |one| one.queries_per_request(&self.lookup));
        self.lookup
            .lookups_in(self.info.max_batch.min(queries))
            .min(self.lookup.lookups_in_message())
            .max(1)
    }

    /// Registers or resumes the saved registration, if the scheme has client keys and this session
    /// has not done so for its version.
    pub(crate) async fn ensure_registered(&mut self, io: &Io) -> Result<()> {
        let mut changes = 0;

        while self.registration.is_none() {
            match Registration::open(self.context(io), &self.name, &self.settings).await {
                Ok(None) => break,
                Ok(registration) => self.registration = registration,
                Err(error) if error.is_version_change() && changes < MAX_CHANGES => {
                    self.fetch_again(io, changes, error.current_version())
                        .await?
                }
                Err(error) => return Err(error),
            }
            changes += 1;
        }
        Ok(())
    }

    /// Moves to the new version after a refusal, and registers for it.
    pub(super) async fn follow_change(
        &mut self,
        io: &Io,
        changes: u32,
        refusal: &Error,
    ) -> Result<()> {
        self.fetch_again(io, changes, refusal.current_version())
            .await?;
        self.ensure_registered(io).await
    }

    /// Moves to the newest version if this session has seen deltas or has a filter of keys, and has
    /// not requested the newest version for [`Settings::freshness`]: since the service also answers
    /// old versions, and is not asked for excluded keys, no refusal would tell the session to move.
    /// Also moves if the session's checkpoint has become too old.
    pub(super) async fn stay_fresh(&mut self, io: &Io) -> Result<()> {
        if self.trust.is_too_old(&self.service, &self.settings) {
            return self.fetch_again(io, 0, None).await;
        }

        let age = self.service.platform.now().saturating_sub(self.seen);
        // Otherwise versions are rare, and a refusal tells of the next one soon enough.
        let needed = self.had_delta || self.lookup.prefilter().is_some();
        if !needed || age < self.settings.freshness.0 {
            return Ok(());
        }

        match self.fetch_again(io, 0, None).await {
            // Its own version is still answered, or the lookup says why not.
            Err(error) if error.is_retryable() || error.is_version_change() => Ok(()),
            moved => moved,
        }
    }

    /// Moves to the version that a refusal names, or to the newest one. Discards the registration,
    /// which may not be valid for that version, so that it is opened again.
    pub(super) async fn fetch_again(
        &mut self,
        io: &Io,
        changes: u32,
        named: Option<Version>,
    ) -> Result<()> {
        let begin = self.service.platform.now();
        if changes > 0 {
            fetch::pause_between_changes(io, &self.service, changes).await;
        }
        self.move_to(io, named).await?;

        // Counted from the start of the fetch: a version may be published during it.
        if named.is_none() {
            self.seen = begin;
        }
        self.had_delta |= self.info.delta.is_some();

        // Taken over before the registration goes, which counts the bytes of its keys.
        self.costs = self.costs();
        self.registration = None;

        if self.trust.is_signed() {
            let pin = NamePin::of_service(io, &self.service, &self.settings);
            // Pinned once: a name that the user has removed meanwhile stays removed.
            if self.named {
                pin.check(&self.name).await?;
            } else {
                self.keep_name(&pin).await?;
                self.named = true;
            }
        }
        self.keep_version(io).await
    }

    /// Fetches the version that a refusal names, or the newest one. Fetches again if another
    /// session of this client has changed the pin meanwhile.
    async fn move_to(&mut self, io: &Io, named: Option<Version>) -> Result<()> {
        let service = &self.service;
        let name = &self.name;
        let settings = &self.settings;
        // Each attempt was overtaken by another process of this client, so that one of both goes
        // on.
        let mut attempts = 1..MAX_CHANGES;

        loop {
            let from = Origin {
                service,
                name,
                settings,
                trust: &self.trust,
                held: Some(&self.lookup),
            };
            let Fetched {
                info,
                lookup,
                proven,
            } = fetch::fetch(io, from, named, &mut self.costs).await?;

            if let Some(proven) = proven {
                let keeping = self.trust.keep(io, service, name, settings, *proven);
                match keeping.await? {
                    Keeping::Kept => {}
                    Keeping::Overtaken(_) if attempts.next().is_some() => continue,
                    Keeping::Overtaken(refusal) => return Err(refusal),
                }
            }
            // Last: until the checkpoint is kept, the session stays at its version.
            self.info = info;
            self.lookup = lookup;
            return Ok(());
        }
    }

    /// Registers again in place of a client that the service does not have any more. If another
    /// query used the ticket, a copy of the state is in use: removes the state, and returns
    /// [`Error::StateCopied`].
    async fn replace_client(&mut self, io: &Io, client: &str, refusal: Error) -> Result<()> {
        let Some(registration) = &self.registration else {
            return Err(refusal);
        };

        match refusal {
            Error::Http {
                url, code, message, ..
            } if code == code::TICKET_USED => {
                // Forgotten at once: another use of the state could reveal the indices of two
                // queries.
                registration.forget(self.context(io), client).await?;
                Err(Error::StateCopied { url, message })
            }
            _ => registration.replace(self.context(io), client).await,
        }
    }

    pub(super) fn context<'a>(&'a self, io: &'a Io) -> Context<'a> {
        Context {
            io,
            service: &self.service,
            lookup: &self.lookup,
        }
    }
}
