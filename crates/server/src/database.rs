//! One version of one database, ready to answer.

use std::path::Path;
use std::sync::OnceLock;

use axum::body::Bytes;
use papir_core::erased::{ErasedKeys, ErasedServer, ErasedSession};
use papir_core::{Description, Error, NoProgress, Privacy, Result, Sizes, Version};
use papir_lookup::{Bundle, KeywordLayout};
use papir_store::Snapshot;

use crate::info::{Info, Summary};
use crate::problem::Problem;

/// Most queries in one request, and in several that are answered together, unless one key takes more.
const MAX_BATCH: usize = 64;
/// Queries of a batch together, and its answers together, stay below this many bytes, unless one
/// key takes more: 16 MiB. With their clients' keys so do requests that are answered together.
const BATCH_BYTES: u64 = 16 << 20;

/// The queries of one request, back to back.
pub(crate) struct Queries<'a> {
    /// A whole number of queries.
    pub(crate) bytes: &'a [u8],
    /// Their client's keys, where the scheme has them.
    pub(crate) keys: Option<&'a ErasedKeys>,
    /// A ticket a query, where the scheme has them.
    pub(crate) tickets: &'a [Vec<u8>],
    /// What a query of another version is told.
    pub(crate) newest: Version,
}

impl<'a> Queries<'a> {
    /// The session of the query at this place.
    fn session(&self, place: usize) -> ErasedSession<'a> {
        ErasedSession { keys: self.keys, ticket: self.tickets.get(place).map(Vec::as_slice) }
    }
}

/// One version of one database, with the name it is served under.
pub struct Database {
    server: Box<dyn ErasedServer>,
    keyword: Option<KeywordLayout>,
    commitment_top: Option<[u8; 32]>,
    version: Version,
    privacy: Privacy,
    description: Description,
    info: Info,
    query_bytes: usize,
    bundle: OnceLock<Bytes>,
    mapped: u64,
}

impl Database {
    /// Loads a snapshot file.
    ///
    /// # Errors
    /// As [`Snapshot::open`].
    pub fn open(name: &str, path: &Path) -> papir_store::Result<Self> {
        Ok(Self::from_snapshot(name, Snapshot::open(path)?))
    }

    /// Serves a loaded snapshot.
    pub fn from_snapshot(name: &str, snapshot: Snapshot) -> Self {
        let Snapshot { server, keyword, commitment_top, file_bytes, .. } = snapshot;
        Self { mapped: file_bytes, ..Self::new_verifiable(name, server, keyword, commitment_top) }
    }

    /// Serves a prepared database, with the layout of its keys where it has some.
    pub fn new(name: &str, server: Box<dyn ErasedServer>, keyword: Option<KeywordLayout>) -> Self {
        Self::new_verifiable(name, server, keyword, None)
    }

    /// As [`Database::new`], with the top of the hash tree over all records where it is verifiable.
    pub fn new_verifiable(
        name: &str,
        server: Box<dyn ErasedServer>,
        keyword: Option<KeywordLayout>,
        commitment_top: Option<[u8; 32]>,
    ) -> Self {
        let (description, version) = (server.describe(), server.version());
        let summary = Summary {
            name: name.to_owned(),
            scheme: description.scheme,
            version: version.to_string(),
            records: description.shape.records(),
            record_bits: description.shape.record_bits(),
            keyed: keyword.is_some(),
        };
        let lookups = keyword.as_ref().map(KeywordLayout::lookups);
        let max_batch = max_batch(&description, lookups.unwrap_or(1));
        let layout =
            Bundle { scheme_public: Vec::new(), keyword: keyword.clone(), commitment_top }.encode().len();
        let bundle_bytes = description.sizes.public + layout as u64;
        let (privacy, query_bytes) = (description.privacy, description.sizes.query as usize);
        let info = Info::new(summary, description.clone(), lookups, max_batch, bundle_bytes);
        Self {
            server,
            keyword,
            commitment_top,
            version,
            privacy,
            description,
            info,
            query_bytes,
            bundle: OnceLock::new(),
            mapped: 0,
        }
    }

    /// The name it is served under.
    pub fn name(&self) -> &str {
        &self.info.summary.name
    }

    /// Its version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Refuses a scheme that hides nothing, unless that is allowed.
    pub(crate) fn check_private(&self, allow_not_private: bool) -> Result<()> {
        match self.privacy {
            Privacy::NotPrivate(reason) if !allow_not_private => {
                Err(Error::NotPrivate { scheme: self.info.summary.scheme, reason })
            }
            _ => Ok(()),
        }
    }

    /// The scheme's sizes and limits.
    pub(crate) fn description(&self) -> &Description {
        &self.description
    }

    /// The prepared database itself.
    pub(crate) fn erased(&self) -> &dyn ErasedServer {
        &*self.server
    }

    /// Queries that one key or index takes.
    pub(crate) fn queries_per_lookup(&self) -> usize {
        self.info.lookups_per_key.unwrap_or(1).div_ceil(self.description.limits.batch.max(1))
    }

    pub(crate) fn info(&self) -> &Info {
        &self.info
    }

    /// Bytes of the snapshot file that is mapped; 0 for a database in memory.
    pub(crate) fn mapped(&self) -> u64 {
        self.mapped
    }

    /// What clients start from. Encoded when first asked for, which takes as long as the hint is large.
    pub(crate) fn bundle(&self) -> Bytes {
        let encode = || {
            let (scheme_public, keyword) = (self.server.public(), self.keyword.clone());
            Bundle { scheme_public, keyword, commitment_top: self.commitment_top }.encode()
        };
        self.bundle.get_or_init(|| encode().into()).clone()
    }

    /// The longest body that can be a batch of queries.
    pub(crate) fn body_limit(&self) -> usize {
        self.info.max_batch * self.query_bytes
    }

    /// How many queries a body of this length holds.
    pub(crate) fn count(&self, bytes: usize) -> usize {
        bytes / self.query_bytes.max(1)
    }

    /// How many queries a body of this length holds, between one and the largest batch; the largest
    /// batch where the length is not known.
    pub(crate) fn queries_in(&self, length: Option<u64>) -> u64 {
        let (query, most) = (self.query_bytes.max(1) as u64, self.info.max_batch.max(1) as u64);
        length.map_or(most, |length| length.div_ceil(query).clamp(1, most))
    }

    /// Checks that a body of this length is a whole number of queries, at least one and at most a batch.
    pub(crate) fn check_length(&self, found: usize) -> std::result::Result<(), Problem> {
        if found > self.body_limit() {
            return Err(Problem::TooLong { limit: self.body_limit() });
        }
        if found > 0 && found.is_multiple_of(self.query_bytes.max(1)) {
            return Ok(());
        }
        Err(Problem::WrongLength { found, query: self.query_bytes })
    }

    /// The queries that stand back to back.
    pub(crate) fn split<'q>(&self, queries: &'q [u8]) -> impl Iterator<Item = &'q [u8]> {
        queries.chunks(self.query_bytes.max(1))
    }

    /// Checks queries without answering; one bad query refuses all.
    pub(crate) fn check_queries(&self, queries: &[u8], newest: Version) -> std::result::Result<(), Problem> {
        let count = self.split(queries).count();
        self.split(queries).enumerate().try_for_each(|(position, query)| {
            let refused = |error| Problem::of_query(error, (position, count), newest);
            self.server.check_query(query).map_err(refused)
        })
    }

    /// Whether a request can be answered together with others without taking more than a request may.
    pub(crate) fn fit_together(&self, request: usize, others: impl Iterator<Item = usize>) -> bool {
        let (mut queries, mut bytes) = (0, 0u64);
        for length in others.chain([request]) {
            queries += self.count(length);
            bytes = bytes.saturating_add(self.footprint(length));
        }
        queries <= MAX_BATCH && bytes <= BATCH_BYTES
    }

    /// Bytes that answering a request of this length holds besides the database: its queries, their
    /// answers, and its client's keys.
    fn footprint(&self, length: usize) -> u64 {
        let Sizes { query, answer, keys, .. } = self.description.sizes;
        (self.count(length) as u64).saturating_mul(query.max(answer)).saturating_add(keys)
    }

    /// Answers several requests with one read of the database; one result each. In a request one bad
    /// query refuses all; the other requests do not mind.
    pub(crate) fn answer(&self, requests: &[Queries<'_>]) -> Vec<std::result::Result<Vec<u8>, Problem>> {
        let mut batch = Vec::new();
        for request in requests {
            let queries = self.split(request.bytes).enumerate();
            batch.extend(queries.map(|(place, query)| (request.session(place), query)));
        }
        let mut answers = self.server.answer_many(&batch, &NoProgress).into_iter();
        let own = |request: &Queries<'_>| answers.by_ref().take(self.count(request.bytes.len())).collect();
        let own: Vec<Vec<Result<Vec<u8>>>> = requests.iter().map(own).collect();
        requests.iter().zip(own).map(|(request, answers)| self.join(request, answers)).collect()
    }

    /// One request's answers back to back.
    fn join(
        &self,
        request: &Queries<'_>,
        answers: Vec<Result<Vec<u8>>>,
    ) -> std::result::Result<Vec<u8>, Problem> {
        let count = self.count(request.bytes.len());
        if answers.len() != count {
            return Err(Problem::Internal);
        }
        let mut joined = Vec::new();
        for (position, answer) in answers.into_iter().enumerate() {
            let of_query = |error| Problem::of_query(error, (position, count), request.newest);
            joined.extend_from_slice(&answer.map_err(of_query)?);
        }
        Ok(joined)
    }
}

/// How many queries a request may hold: enough for one key, and no more than fit in [`BATCH_BYTES`].
fn max_batch(description: &Description, lookups_per_key: usize) -> usize {
    let longest = description.sizes.query.max(description.sizes.answer).max(1);
    let fitting = usize::try_from(BATCH_BYTES / longest).unwrap_or(usize::MAX).clamp(1, MAX_BATCH);
    fitting.max(lookups_per_key.div_ceil(description.limits.batch.max(1)))
}
