//! One version of one database, ready to answer.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use papir_core::erased::{ErasedKeys, ErasedServer, ErasedSession};
use papir_core::{Description, Error, NoProgress, Privacy, Result, Sizes, Version, envelope};
use papir_lookup::{Bundle, KeywordLayout};
use papir_store::{Metadata, OpenOptions, Snapshot, parse_timestamp};

use super::checkpoint::Checkpoint;
use super::error::QueryError;

/// Maximum number of queries in one request and in one batch, unless a single key needs more.
const MAX_BATCH: usize = 64;
/// Limit on the total size of a request's queries, and of its answers: 16 MiB, unless a single key
/// needs more. The same limit holds for a batch of requests, including their client keys.
const BATCH_BYTES: u64 = 16 << 20;

/// The concatenated queries of one request.
pub(crate) struct Queries<'a> {
    /// A whole number of queries of one form.
    pub(crate) bytes: &'a [u8],
    /// The client's keys, if the scheme has them.
    pub(crate) keys: Option<&'a ErasedKeys>,
    /// One ticket per query, if the scheme has them; `None` for a query whose key was sent ahead.
    pub(crate) tickets: &'a [Option<Vec<u8>>],
    /// The newest version, reported when a query is for a different one.
    pub(crate) newest: Version,
}

impl<'a> Queries<'a> {
    /// The session of query `index`.
    fn session(&self, index: usize) -> ErasedSession<'a> {
        ErasedSession { keys: self.keys, ticket: self.tickets.get(index).and_then(Option::as_deref) }
    }
}

/// One version of one database, with the name it is served under.
pub struct Database {
    name: String,
    server: Box<dyn ErasedServer>,
    keyword: Option<KeywordLayout>,
    commitment_top: Option<[u8; 32]>,
    version: Version,
    description: Description,
    max_batch: usize,
    query_bytes: usize,
    public_part: OnceLock<Bytes>,
    public_part_bytes: u64,
    checkpoint: Option<Checkpoint>,
    published: Option<SystemTime>,
    snapshot: u64,
}

impl Database {
    /// Reads a snapshot file into memory. What happens to the file later does not matter.
    ///
    /// # Errors
    /// See [`Snapshot::open_with`]; [`papir_store::Error::Checkpoint`] for a signed database under
    /// another name than its own.
    pub fn open(name: &str, path: &Path) -> papir_store::Result<Self> {
        Self::open_with(name, path, OpenOptions { in_memory: true, ..OpenOptions::default() })
    }

    /// Like [`Database::open`], with options.
    ///
    /// # Errors
    /// The errors of [`Database::open`].
    pub fn open_with(name: &str, path: &Path, options: OpenOptions) -> papir_store::Result<Self> {
        Self::from_snapshot(name, Snapshot::open_with(path, options)?)
            .map_err(|error| papir_store::Error::Checkpoint { file: path.display().to_string(), error })
    }

    /// Serves a loaded snapshot.
    ///
    /// # Errors
    /// [`papir_checkpoint::Error::Database`] for a signed database under another name than its own.
    pub fn from_snapshot(name: &str, snapshot: Snapshot) -> papir_checkpoint::Result<Self> {
        let Snapshot { metadata, server, keyword, commitment_top, checkpoint, file_bytes, .. } = snapshot;
        let checkpoint = checkpoint.map(|log| Checkpoint::of(&log, name)).transpose()?;
        let database = Self::new_verifiable(name, server, keyword, commitment_top);
        let published = published(&metadata, checkpoint.as_ref());
        Ok(Self { snapshot: file_bytes, checkpoint, published, ..database })
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
        let (description, version) = (server.describe(), server.version());
        let lookups = keyword.as_ref().map_or(1, KeywordLayout::lookups);
        let layout =
            Bundle { scheme_public: Vec::new(), keyword: keyword.clone(), commitment_top }.encode().len();
        Self {
            name: name.to_owned(),
            max_batch: max_batch(&description, lookups),
            query_bytes: description.sizes.query as usize,
            public_part_bytes: description.sizes.public + layout as u64,
            server,
            keyword,
            commitment_top,
            version,
            description,
            public_part: OnceLock::new(),
            checkpoint: None,
            published: None,
            snapshot: 0,
        }
    }

    /// The name it is served under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Rejects a scheme without privacy unless it is allowed.
    pub(crate) fn check_private(&self, allow_not_private: bool) -> Result<()> {
        match self.description.privacy {
            Privacy::NotPrivate(reason) if !allow_not_private => {
                Err(Error::NotPrivate { scheme: self.description.scheme, reason })
            }
            _ => Ok(()),
        }
    }

    /// The scheme's parameters, sizes and limits.
    pub(crate) fn description(&self) -> &Description {
        &self.description
    }

    /// The owner's signed checkpoint; `None` if the database is not signed.
    pub(crate) fn checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoint.as_ref()
    }

    /// Time at which the version was signed or, without a signature, built or last updated; `None`
    /// for a database in memory.
    pub(crate) fn published(&self) -> Option<SystemTime> {
        self.published
    }

    /// The prepared database.
    pub(crate) fn erased(&self) -> &dyn ErasedServer {
        &*self.server
    }

    /// Records fetched per key; `None` if the database is not keyed.
    pub(crate) fn lookups_per_key(&self) -> Option<usize> {
        self.keyword.as_ref().map(KeywordLayout::lookups)
    }

    /// Queries needed for one key or index.
    pub(crate) fn queries_per_lookup(&self) -> usize {
        self.lookups_per_key().unwrap_or(1).div_ceil(self.description.limits.batch.max(1))
    }

    /// Maximum number of queries in one request.
    pub(crate) fn max_batch(&self) -> usize {
        self.max_batch
    }

    /// Bytes of the snapshot file; 0 for a database without one.
    pub(crate) fn snapshot(&self) -> u64 {
        self.snapshot
    }

    /// Length of [`Self::public_part`] in bytes, without encoding it.
    pub(crate) fn public_part_bytes(&self) -> u64 {
        self.public_part_bytes
    }

    /// The public part that clients download. Encoded on first use, which is slow for a large hint.
    pub(crate) fn public_part(&self) -> Bytes {
        let encoded = self.public_part.get_or_init(|| {
            let (scheme_public, keyword) = (self.server.public(), self.keyword.clone());
            Bundle { scheme_public, keyword, commitment_top: self.commitment_top }.encode().into()
        });
        encoded.clone()
    }

    /// Length in bytes of the largest batch of queries.
    pub(crate) fn body_limit(&self) -> usize {
        self.max_batch * self.query_bytes
    }

    /// Length of each of concatenated queries, which all have the form of the first: whole, a key that
    /// is sent ahead, or the rest of a query whose key was.
    fn each(&self, queries: &[u8]) -> usize {
        let Sizes { ahead, online, .. } = self.description.sizes;
        let first =
            envelope::first_length(queries).filter(|&first| [ahead, online].contains(&(first as u64)));
        first.unwrap_or(self.query_bytes).max(1)
    }

    /// Returns true for a query whose key was sent ahead.
    pub(crate) fn is_sent_ahead(&self, query: &[u8]) -> bool {
        query.len() as u64 == self.description.sizes.online
    }

    /// Number of concatenated queries.
    pub(crate) fn count(&self, queries: &[u8]) -> usize {
        queries.len() / self.each(queries)
    }

    /// Number of queries in a body of this length, at least 1 and at most the largest batch. An
    /// unknown length counts as the largest batch.
    pub(crate) fn queries_in(&self, length: Option<u64>) -> u64 {
        let (query, most) = (self.query_bytes.max(1) as u64, self.max_batch.max(1) as u64);
        length.map_or(most, |length| length.div_ceil(query).clamp(1, most))
    }

    /// Checks that a body is a whole number of queries of one form, from one to a batch.
    pub(crate) fn check_length(&self, queries: &[u8]) -> std::result::Result<(), QueryError> {
        let (found, query) = (queries.len(), self.each(queries));
        if found.div_ceil(query) > self.max_batch {
            return Err(QueryError::TooLong { limit: self.max_batch * query });
        }
        if found > 0 && found.is_multiple_of(query) {
            return Ok(());
        }
        Err(QueryError::WrongLength { found, query })
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
        self.split(queries).enumerate().try_for_each(|(index, query)| {
            let checked = self.server.check_query(query);
            checked.map_err(|error| QueryError::from_scheme(error, index, count, newest))
        })
    }

    /// Returns whether requests with these bodies stay within the limits of one request when answered
    /// together.
    pub(crate) fn fit_together<'q>(&self, request: &'q [u8], others: impl Iterator<Item = &'q [u8]>) -> bool {
        let (mut queries, mut bytes) = (0, 0u64);
        for body in others.chain([request]) {
            queries += self.count(body);
            bytes = bytes.saturating_add(self.footprint(body));
        }
        queries <= MAX_BATCH && bytes <= BATCH_BYTES
    }

    /// Memory that answering a body needs besides the database: the queries or their answers, whichever
    /// is larger, and the client's keys.
    fn footprint(&self, body: &[u8]) -> u64 {
        let Sizes { query, answer, keys, .. } = self.description.sizes;
        (self.count(body) as u64).saturating_mul(query.max(answer)).saturating_add(keys)
    }

    /// Answers several requests with one pass over the database. Returns one result per request: an
    /// invalid query rejects its own request only.
    pub(crate) fn answer(&self, requests: &[Queries<'_>]) -> Vec<std::result::Result<Vec<u8>, QueryError>> {
        let mut batch = Vec::new();
        for request in requests {
            let queries = self.split(request.bytes).enumerate();
            batch.extend(queries.map(|(index, query)| (request.session(index), query)));
        }
        let mut answers = self.server.answer_many(&batch, &NoProgress).into_iter();
        requests
            .iter()
            .map(|request| {
                let count = self.count(request.bytes);
                concatenate(answers.by_ref().take(count).collect(), count, request.newest)
            })
            .collect()
    }
}

/// See [`Database::published`].
fn published(metadata: &Metadata, checkpoint: Option<&Checkpoint>) -> Option<SystemTime> {
    match checkpoint {
        Some(signed) => UNIX_EPOCH.checked_add(Duration::from_secs(signed.time)),
        None => parse_timestamp(metadata.updated.as_ref().unwrap_or(&metadata.created)),
    }
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
        let answer = answer.map_err(|error| QueryError::from_scheme(error, index, count, newest))?;
        joined.extend_from_slice(&answer);
    }
    Ok(joined)
}

/// Maximum number of queries in a request: as many as fit into [`BATCH_BYTES`], at most
/// [`MAX_BATCH`], but enough for one key.
fn max_batch(description: &Description, lookups_per_key: usize) -> usize {
    let longest = description.sizes.query.max(description.sizes.answer).max(1);
    let fitting = usize::try_from(BATCH_BYTES / longest).unwrap_or(usize::MAX).clamp(1, MAX_BATCH);
    fitting.max(lookups_per_key.div_ceil(description.limits.batch.max(1)))
}
