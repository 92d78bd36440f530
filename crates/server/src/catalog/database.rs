//! One version of one database, ready to answer.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use bytes::Bytes;
use papir_core::envelope::{self, Kind, named_version};
use papir_core::erased::{
    ErasedKeys, ErasedRegisteredServer, ErasedServer, ErasedSession, scheme_of_public,
};
use papir_core::short::{self, Binding};
use papir_core::{Description, Error, NoProgress, Privacy, Result, Sizes, Version};
use papir_lookup::{BlockList, KeywordLayout};
use papir_store::{Delta, OpenOptions, Snapshot, StoredPrefilter, Verify, delta_file};

use super::base::Base;
use super::checkpoint::{Checkpoint, refused};
use super::delta::ServedDelta;
use super::device_slot::DeviceSlot;
use super::error::QueryError;
use super::identity::{Files, Identity};

/// The concatenated queries of one request.
pub(crate) struct RequestQueries<'a> {
    /// A whole number of queries of one form, then the queries to the delta for the same lookups.
    pub(crate) bytes: &'a [u8],
    /// The client's keys, if the scheme has them.
    pub(crate) keys: Option<&'a ErasedKeys>,
    /// One ticket per query, if the scheme has them; `None` for a query whose key was sent ahead.
    pub(crate) tickets: &'a [Option<Vec<u8>>],
    /// The newest version, reported when a query is for a different one.
    pub(crate) newest: Version,
}

impl<'a> RequestQueries<'a> {
    /// The session of query `index`.
    fn session(&self, index: usize) -> ErasedSession<'a> {
        ErasedSession {
            keys: self.keys,
            ticket: self.tickets.get(index).and_then(Option::as_deref),
        }
    }
}

/// The body of a request, divided into its two kinds of queries.
#[derive(Clone, Copy)]
struct SplitQueries<'q> {
    /// The queries to the snapshot.
    base: &'q [u8],
    /// The queries to the delta, for the same lookups.
    delta: &'q [u8],
}

/// The files that a version is opened from.
#[derive(Clone, Copy)]
pub(super) struct Paths<'a> {
    /// The file with the deltas beside it.
    pub(super) file: &'a Path,
    /// The snapshot: `file`, or an earlier version of it.
    pub(super) snapshot: &'a Path,
}

impl<'a> Paths<'a> {
    /// The newest version of a file.
    pub(super) fn newest(file: &'a Path) -> Self {
        Self {
            file,
            snapshot: file,
        }
    }
}

/// One version of one database under its name: a snapshot, and the delta beside it if it has one.
pub struct Database {
    base: Arc<Base>,
    delta: Option<ServedDelta>,
}

impl Database {
    /// Reads a snapshot file into memory. What happens to the file later does not matter.
    ///
    /// # Errors
    /// See [`Snapshot::open_with`]; [`papir_store::Error::Checkpoint`] for a signed database under
    /// another name than its own.
    pub fn open(name: &str, path: &Path) -> papir_store::Result<Self> {
        let options = OpenOptions {
            in_memory: true,
            ..OpenOptions::default()
        };
        Self::open_with(name, path, options)
    }

    /// Like [`Database::open`], with options.
    ///
    /// # Errors
    /// The errors of [`Database::open`].
    pub fn open_with(name: &str, path: &Path, options: OpenOptions) -> papir_store::Result<Self> {
        let (database, _) =
            Self::open_again(name, Paths::newest(path), &options, DeviceSlot::NONE, None)?;
        Ok(database)
    }

    /// Opens a snapshot, unless it is the one that is `served`, and its delta. Returns the files as
    /// they were then.
    ///
    /// A merge renames the next snapshot before it removes the delta of this one. If the file has
    /// been replaced meanwhile, a missing delta says nothing, and the next file is opened instead.
    pub(super) fn open_again(
        name: &str,
        paths: Paths<'_>,
        options: &OpenOptions,
        device: DeviceSlot<'_>,
        served: Option<&Self>,
    ) -> papir_store::Result<(Self, Files)> {
        const ATTEMPTS: usize = 8;

        let Paths {
            file,
            snapshot: path,
        } = paths;
        let at_once = of_deltas(options);
        for _ in 0..ATTEMPTS {
            let snapshot = Identity::of(path);
            let unchanged =
                served.filter(|served| snapshot.is_some() && served.base.identity == snapshot);
            let base = match unchanged {
                Some(served) => Arc::clone(&served.base),
                None => Arc::new(device.put(Base::open(name, path, options.clone(), snapshot)?)?),
            };

            // Identified before it is opened: a delta that replaces it meanwhile counts as changed.
            let delta = Identity::of(&delta_file(file, base.version)?);
            let opened = Delta::of(file, base.version, &at_once);

            // Checked before the result is used: a merge may have removed the delta.
            if Identity::of(path) == snapshot {
                let files = Files { snapshot, delta };
                let delta = serve_delta(&base, opened?, file)?;
                return Ok((Self { base, delta }, files));
            }
        }

        let what = format!("opening {}", path.display());
        let source = std::io::Error::other(format!(
            "it was replaced during each of {ATTEMPTS} attempts"
        ));
        Err(Error::Io { what, source }.into())
    }

    /// The same snapshot, with the delta that is beside `file` now.
    pub(super) fn with_delta_beside(&self, file: &Path) -> papir_store::Result<Self> {
        let opened = Delta::of(file, self.base.version, &of_deltas(&OpenOptions::default()))?;
        let delta = serve_delta(&self.base, opened, file)?;
        Ok(Self {
            base: Arc::clone(&self.base),
            delta,
        })
    }

    /// Serves a loaded snapshot, without a delta.
    ///
    /// # Errors
    /// [`papir_checkpoint::Error::Database`] for a signed database under another name than its own.
    pub fn from_snapshot(name: &str, snapshot: Snapshot) -> papir_checkpoint::Result<Self> {
        Ok(Self {
            base: Arc::new(Base::of_snapshot(name, snapshot)?),
            delta: None,
        })
    }

    /// Serves a prepared database. `keyword` is its key layout, if it is keyed.
    pub fn new(name: &str, server: Box<dyn ErasedServer>, keyword: Option<KeywordLayout>) -> Self {
        Self::new_verifiable(name, server, keyword, None)
    }

    /// Like [`Database::new`], with the top of the hash tree over all records if it is verifiable.
    pub fn new_verifiable(
        name: &str,
        server: Box<dyn ErasedServer>,
        keyword: Option<KeywordLayout>,
        commitment_top: Option<[u8; 32]>,
    ) -> Self {
        Self {
            base: Arc::new(Base::new(name, server, keyword, commitment_top)),
            delta: None,
        }
    }

    /// The name it is served under.
    pub fn name(&self) -> &str {
        &self.base.name
    }

    /// The version of the delta or, without a delta, of the snapshot.
    pub fn version(&self) -> Version {
        self.delta
            .as_ref()
            .map_or(self.base.version, |delta| delta.version)
    }

    /// The version of the snapshot.
    pub(crate) fn base_version(&self) -> Version {
        self.base.version
    }

    /// The snapshot.
    pub(super) fn base(&self) -> &Arc<Base> {
        &self.base
    }

    /// Bytes of the snapshot that are not verified yet.
    pub(crate) fn unverified(&self) -> u64 {
        self.base.unverified.load(Ordering::Relaxed)
    }

    /// Bytes of the snapshot's matrices in the memory of a device; 0 if the CPU answers alone.
    pub(crate) fn device_bytes(&self) -> u64 {
        self.base.device_bytes()
    }

    /// The delta beside the snapshot.
    pub(crate) fn delta(&self) -> Option<&ServedDelta> {
        self.delta.as_ref()
    }

    /// Rejects a scheme without privacy unless it is allowed.
    pub(crate) fn check_private(&self, allow_not_private: bool) -> Result<()> {
        match self.base.description.privacy {
            Privacy::NotPrivate(reason) if !allow_not_private => Err(Error::NotPrivate {
                scheme: self.base.description.scheme,
                reason,
            }),
            _ => Ok(()),
        }
    }

    /// The scheme's parameters, sizes and limits.
    pub(crate) fn description(&self) -> &Description {
        &self.base.description
    }

    /// The owner's signed checkpoint of this version; `None` if the database is not signed.
    pub(crate) fn checkpoint(&self) -> Option<&Checkpoint> {
        match &self.delta {
            Some(delta) => delta.checkpoint.as_ref(),
            None => self.base.checkpoint.as_ref(),
        }
    }

    /// Frees the log of the delta's checkpoint, once a later delta of the same snapshot is served.
    pub(super) fn drop_log(&self) {
        let checkpoint = self
            .delta
            .as_ref()
            .and_then(|delta| delta.checkpoint.as_ref());
        if let Some(checkpoint) = checkpoint {
            checkpoint.drop_log();
        }
    }

    /// Time at which the version was signed or, without a signature, built or last updated; `None`
    /// for a database in memory.
    pub(crate) fn published(&self) -> Option<SystemTime> {
        self.delta
            .as_ref()
            .map_or(self.base.published, |delta| delta.published)
    }

    /// Returns true if registered clients may leave out the envelopes of their messages. Queries
    /// with tickets may not: the message has no place for their numbers.
    pub(crate) fn takes_short_messages(&self) -> bool {
        let limits = &self.base.description.limits;
        limits.client_keys && !limits.tickets && self.delta.is_none()
    }

    /// The binding of a client's short messages to this version; `None` if it takes none.
    pub(crate) fn binding(&self, client: &str) -> Option<Binding> {
        self.binding_to(self.base.version, client)
    }

    /// The binding of a client's short messages to a version of this database; `None` if it takes
    /// none.
    pub(crate) fn binding_to(&self, version: Version, client: &str) -> Option<Binding> {
        if !self.takes_short_messages() {
            return None;
        }
        // Schemes whose clients register keys and use no tickets have public parts of a few bytes.
        let scheme = scheme_of_public(&self.base.server.public()).ok()?;
        Some(Binding::new(client, scheme, version))
    }

    /// Length in bytes of a query without its envelope.
    pub(crate) fn payload_bytes(&self) -> usize {
        self.base.query_bytes.saturating_sub(envelope::OVERHEAD)
    }

    /// The side of the database that registered clients use.
    pub(crate) fn registered(&self) -> Result<&dyn ErasedRegisteredServer> {
        self.base.server.require_registered()
    }

    /// Records fetched per key; `None` if the database is not keyed.
    pub(crate) fn lookups_per_key(&self) -> Option<usize> {
        self.base.keyword.as_ref().map(KeywordLayout::lookups)
    }

    /// Queries needed for one key or index.
    pub(crate) fn queries_per_lookup(&self) -> usize {
        self.base.queries_of(1)
    }

    /// Maximum number of queries to the snapshot in one request.
    pub(crate) fn max_batch(&self) -> usize {
        match &self.delta {
            Some(delta) => self.base.sizes.max_batch(Some(&delta.sizes())),
            None => self.base.max_batch,
        }
    }

    /// Maximum number of lookups in one request.
    fn max_lookups(&self) -> usize {
        let delta = self.delta.as_ref().map(|delta| delta.sizes());
        self.base.sizes.max_lookups(delta.as_ref())
    }

    /// Bytes of the snapshot file; 0 for a database without one.
    pub(crate) fn snapshot(&self) -> u64 {
        self.base.snapshot
    }

    /// Length of [`Self::public_part`] in bytes, without encoding it.
    pub(crate) fn public_part_bytes(&self) -> u64 {
        self.base.public_part_bytes
    }

    /// The public part that clients download. Encoded on first use, which is slow for a large hint.
    pub(crate) fn public_part(&self) -> Bytes {
        self.base.public_part()
    }

    /// The blocks of the public part. Hashed on first use, which is slow for a large hint.
    pub(crate) fn block_list(&self) -> &BlockList {
        self.base.block_list()
    }

    /// The filter of the snapshot's keys; `None` without one.
    pub(crate) fn prefilter(&self) -> Option<&StoredPrefilter> {
        self.base.prefilter.as_ref()
    }

    /// Length in bytes of the largest batch of queries.
    pub(crate) fn body_limit(&self) -> usize {
        let changes = self
            .delta
            .as_ref()
            .map_or(0, |delta| delta.bytes_of(self.max_lookups()));
        self.max_batch() * self.base.query_bytes + changes
    }

    /// Splits a body into its queries to the snapshot and to the delta; `None` if no number of
    /// lookups has its length.
    fn parts<'q>(&self, body: &'q [u8]) -> Option<SplitQueries<'q>> {
        let Some(delta) = &self.delta else {
            return Some(SplitQueries {
                base: body,
                delta: &[],
            });
        };

        // Each number of lookups has a length of its own, so the length tells where to split.
        let lookups = (1..=self.max_lookups())
            .find(|&lookups| self.base.bytes_of(lookups) + delta.bytes_of(lookups) == body.len())?;
        let (base, delta) = body.split_at(self.base.bytes_of(lookups));
        Some(SplitQueries { base, delta })
    }

    /// [`Self::parts`] of a body whose length was checked.
    fn checked_parts<'q>(&self, body: &'q [u8]) -> SplitQueries<'q> {
        self.parts(body).unwrap_or(SplitQueries {
            base: body,
            delta: &[],
        })
    }

    /// Returns whether the queries of a body are for this version: for its snapshot, and for its
    /// delta.
    pub(crate) fn is_named_by(&self, body: &[u8]) -> bool {
        match (&self.delta, self.parts(body)) {
            (None, _) => is_for(body, self.base.version),
            (Some(delta), Some(parts)) => {
                is_for(parts.base, self.base.version) && is_for(parts.delta, delta.version)
            }
            (Some(_), None) => false,
        }
    }

    /// Length of each of concatenated queries. All have the form of the first: a whole query, a key
    /// that is sent ahead, or the rest of a query whose key was sent ahead.
    fn each(&self, queries: &[u8]) -> usize {
        let Sizes { ahead, online, .. } = self.base.description.sizes;
        let first = envelope::first_length(queries)
            .filter(|&first| [ahead, online].contains(&(first as u64)));
        first.unwrap_or(self.base.query_bytes).max(1)
    }

    /// Returns true for a query whose key was sent ahead.
    pub(crate) fn is_sent_ahead(&self, query: &[u8]) -> bool {
        query.len() as u64 == self.base.description.sizes.online
    }

    /// Number of concatenated queries, to the snapshot and to the delta.
    pub(crate) fn count(&self, body: &[u8]) -> usize {
        let parts = self.checked_parts(body);
        self.count_of_base(parts.base) + self.count_of_delta(parts.delta)
    }

    /// Length in bytes of the answers to concatenated queries, or more.
    pub(crate) fn answer_bytes(&self, body: &[u8]) -> usize {
        let parts = self.checked_parts(body);
        let answer = self.base.description.sizes.answer as usize;
        let of_base = self.count_of_base(parts.base) * answer;
        let of_delta = self
            .delta
            .as_ref()
            .map_or(0, |delta| delta.answer_bytes(parts.delta));
        of_base + of_delta
    }

    /// Number of concatenated queries to the snapshot.
    fn count_of_base(&self, queries: &[u8]) -> usize {
        queries.len() / self.each(queries)
    }

    /// Number of concatenated queries to the delta; 0 without one.
    fn count_of_delta(&self, queries: &[u8]) -> usize {
        self.delta.as_ref().map_or(0, |delta| delta.count(queries))
    }

    /// Number of queries to the snapshot and to the delta in a body of this length, at least 1 and
    /// at most as in the largest request. An unknown length counts as the largest request.
    pub(crate) fn queries_in(&self, length: Option<u64>) -> u64 {
        let Some(delta) = &self.delta else {
            return self.queries_of_bytes(length, self.base.query_bytes);
        };

        let most = self.max_lookups().max(1);
        let announced = length.and_then(|length| usize::try_from(length).ok());
        let announced = announced.unwrap_or(usize::MAX);
        // A body of another length is refused later, and counts as the next longer one.
        let lookups = (1..most)
            .find(|&lookups| self.base.bytes_of(lookups) + delta.bytes_of(lookups) >= announced)
            .unwrap_or(most);
        (self.base.queries_of(lookups) + delta.queries_of(lookups)) as u64
    }

    /// The number of queries in the body of a short message, which has none to a delta.
    pub(crate) fn short_queries_in(&self, length: Option<u64>) -> u64 {
        let payloads = length.map(|length| length.saturating_sub(short::OVERHEAD as u64));
        self.queries_of_bytes(payloads, self.payload_bytes())
    }

    /// Number of queries of `each` bytes in `length` bytes, at least 1 and at most a batch.
    fn queries_of_bytes(&self, length: Option<u64>, each: usize) -> u64 {
        let each = each.max(1) as u64;
        let most = self.max_batch().max(1) as u64;
        length.map_or(most, |length| length.div_ceil(each).clamp(1, most))
    }

    /// Checks that a body is a whole number of queries of one form, from one to a batch, and as
    /// many to the delta as they need.
    pub(crate) fn check_length(&self, body: &[u8]) -> std::result::Result<(), QueryError> {
        let found = body.len();

        if let Some(delta) = &self.delta {
            let limit = self.body_limit();
            if found > limit {
                return Err(QueryError::TooLong { limit });
            }
            if self.parts(body).is_none() {
                let query = self.base.bytes_of(1) + delta.bytes_of(1);
                return Err(QueryError::WrongLength { found, query });
            }
            return Ok(());
        }

        let query = self.each(body);
        if found.div_ceil(query) > self.base.max_batch {
            return Err(QueryError::TooLong {
                limit: self.base.max_batch * query,
            });
        }
        if found == 0 || !found.is_multiple_of(query) {
            return Err(QueryError::WrongLength { found, query });
        }
        Ok(())
    }

    /// Splits concatenated queries.
    pub(crate) fn split<'q>(&self, queries: &'q [u8]) -> impl Iterator<Item = &'q [u8]> {
        queries.chunks(self.each(queries))
    }

    /// Checks queries without answering them. One invalid query rejects all.
    pub(crate) fn check_queries(
        &self,
        queries: &[u8],
        newest: Version,
    ) -> std::result::Result<(), QueryError> {
        let count = self.split(queries).count();
        for (index, query) in self.split(queries).enumerate() {
            let checked = self.base.server.check_query(query);
            checked.map_err(|error| QueryError::from_scheme(error, index, count, newest))?;
        }
        Ok(())
    }

    /// Batches of requests that are answered at the same time.
    pub(crate) fn batches_at_once(&self) -> usize {
        self.base.batches_at_once()
    }

    /// Returns whether requests with these bodies stay within the limits of a batch when answered
    /// together.
    pub(crate) fn fit_together<'q>(
        &self,
        request: &'q [u8],
        others: impl Iterator<Item = &'q [u8]>,
    ) -> bool {
        let mut queries = 0;
        let mut bytes = 0u64;
        for body in others.chain([request]) {
            queries += self.count_of_base(self.checked_parts(body).base);
            bytes = bytes.saturating_add(self.footprint(body));
        }

        let (most_queries, most_bytes) = self.base.batch_limits();
        queries <= most_queries && bytes <= most_bytes
    }

    /// Memory that answering a body needs besides the database: the queries or their answers,
    /// whichever is larger, and the client's keys.
    fn footprint(&self, body: &[u8]) -> u64 {
        let Sizes {
            query,
            answer,
            keys,
            ..
        } = self.base.description.sizes;
        let parts = self.checked_parts(body);

        let count = self.count_of_base(parts.base) as u64;
        let of_delta = self
            .delta
            .as_ref()
            .map_or(0, |delta| delta.footprint(parts.delta));

        count
            .saturating_mul(query.max(answer))
            .saturating_add(keys)
            .saturating_add(of_delta)
    }

    /// Answers several requests with one pass over the database. Returns one result per request: an
    /// invalid query rejects its own request only. The delta's answers follow the snapshot's.
    pub(crate) fn answer(
        &self,
        requests: &[RequestQueries<'_>],
    ) -> Vec<std::result::Result<Vec<u8>, QueryError>> {
        let parts: Vec<SplitQueries<'_>> = requests
            .iter()
            .map(|request| self.checked_parts(request.bytes))
            .collect();
        let mut from_base = self.base_answers(requests, &parts).into_iter();
        let mut from_delta = self.delta_answers(&parts).into_iter();

        // The answers are in the order of the queries: each request takes its share of both.
        let mut answers = Vec::with_capacity(requests.len());
        for (request, part) in requests.iter().zip(&parts) {
            let of_base = self.count_of_base(part.base);
            let of_delta = self.count_of_delta(part.delta);
            let together = from_base
                .by_ref()
                .take(of_base)
                .chain(from_delta.by_ref().take(of_delta));
            answers.push(concatenate(
                together.collect(),
                of_base + of_delta,
                request.newest,
            ));
        }
        answers
    }

    /// Answers the queries to the snapshot of several requests, in order.
    fn base_answers(
        &self,
        requests: &[RequestQueries<'_>],
        parts: &[SplitQueries<'_>],
    ) -> Vec<Result<Vec<u8>>> {
        let mut batch = Vec::new();
        for (request, part) in requests.iter().zip(parts) {
            for (index, query) in self.split(part.base).enumerate() {
                batch.push((request.session(index), query));
            }
        }
        self.base.server.answer_many(&batch, &NoProgress)
    }

    /// Answers the queries to the delta of several requests, in order; none without a delta.
    fn delta_answers(&self, parts: &[SplitQueries<'_>]) -> Vec<Result<Vec<u8>>> {
        match &self.delta {
            Some(delta) => delta.answer(parts.iter().map(|part| part.delta)),
            None => Vec::new(),
        }
    }
}

/// Returns whether queries are for a version.
fn is_for(queries: &[u8], version: Version) -> bool {
    named_version(queries, Kind::Query) == Some(version)
}

/// The options for deltas: they are short, and there is no later verification of them.
fn of_deltas(options: &OpenOptions) -> OpenOptions {
    OpenOptions {
        verify: Verify::Load,
        ..options.clone()
    }
}

/// Serves the delta beside a base, if one was opened. Refuses one that is not signed beside a
/// signed base, and a base whose public part is not the one that the delta's checkpoint names:
/// clients would refuse both.
fn serve_delta(
    base: &Base,
    opened: Option<Delta>,
    file: &Path,
) -> papir_store::Result<Option<ServedDelta>> {
    let Some(delta) = opened else {
        return Ok(None);
    };

    match (&base.checkpoint, &delta.log) {
        (Some(_), Some(log)) => {
            log.newest()
                .and_then(|leaf| leaf.check_public_part(&base.public_part()))
                .map_err(|error| refused(file, error))?;
        }
        (None, None) => {}
        (signed, _) => {
            let of_base = signed_or_not(signed.is_some());
            let of_delta = signed_or_not(delta.log.is_some());
            return Err(papir_store::Error::Options {
                found: format!("a delta that is {of_delta} beside a database that is {of_base}"),
                expected: "both signed, or both unsigned".to_owned(),
            });
        }
    }

    let served = ServedDelta::new(delta, &base.name).map_err(|error| refused(file, error))?;
    Ok(Some(served))
}

/// The word for a signature or its absence, in messages.
fn signed_or_not(is_signed: bool) -> &'static str {
    if is_signed { "signed" } else { "unsigned" }
}

/// Concatenates the `count` answers of one request.
fn concatenate(
    answers: Vec<Result<Vec<u8>>>,
    count: usize,
    newest: Version,
) -> std::result::Result<Vec<u8>, QueryError> {
    if answers.len() != count {
        return Err(QueryError::Missing);
    }

    let mut joined = Vec::new();
    for (index, answer) in answers.into_iter().enumerate() {
        let answer =
            answer.map_err(|error| QueryError::from_scheme(error, index, count, newest))?;
        joined.extend_from_slice(&answer);
    }
    Ok(joined)
}
