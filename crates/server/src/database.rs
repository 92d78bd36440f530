//! One version of one database, ready to answer.

use std::path::Path;
use std::sync::OnceLock;

use axum::body::Bytes;
use papir_core::erased::{ErasedServer, ErasedSession};
use papir_core::{Description, Error, Privacy, Result, Version};
use papir_lookup::{Bundle, KeywordLayout};
use papir_store::Snapshot;

use crate::info::{Info, Summary};
use crate::problem::Problem;

/// Most queries in one request, unless one key takes more.
const MAX_BATCH: usize = 64;
/// Queries of a batch together, and its answers together, stay below this many bytes, unless one
/// key takes more: 16 MiB.
const BATCH_BYTES: u64 = 16 << 20;

/// One version of one database, with the name it is served under.
pub struct Database {
    server: Box<dyn ErasedServer>,
    keyword: Option<KeywordLayout>,
    version: Version,
    privacy: Privacy,
    info: Info,
    query_bytes: usize,
    bundle: OnceLock<Bytes>,
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
        Self::new(name, snapshot.server, snapshot.keyword)
    }

    /// Serves a prepared database, with the layout of its keys where it has some.
    pub fn new(name: &str, server: Box<dyn ErasedServer>, keyword: Option<KeywordLayout>) -> Self {
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
        let layout = Bundle { scheme_public: Vec::new(), keyword: keyword.clone() }.encode().len();
        let bundle_bytes = description.sizes.public + layout as u64;
        let (privacy, query_bytes) = (description.privacy, description.sizes.query as usize);
        let info = Info::new(summary, description, lookups, max_batch, bundle_bytes);
        Self { server, keyword, version, privacy, info, query_bytes, bundle: OnceLock::new() }
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

    pub(crate) fn info(&self) -> &Info {
        &self.info
    }

    /// What clients start from. Encoded when first asked for, which takes as long as the hint is large.
    pub(crate) fn bundle(&self) -> Bytes {
        let encode =
            || Bundle { scheme_public: self.server.public(), keyword: self.keyword.clone() }.encode();
        self.bundle.get_or_init(|| encode().into()).clone()
    }

    /// The longest body that can be a batch of queries.
    pub(crate) fn body_limit(&self) -> usize {
        self.info.max_batch * self.query_bytes
    }

    /// Checks that a body of this length is a whole number of queries, at least one.
    pub(crate) fn check_length(&self, found: usize) -> std::result::Result<(), Problem> {
        if found > 0 && found.is_multiple_of(self.query_bytes.max(1)) {
            return Ok(());
        }
        Err(Problem::WrongLength { found, query: self.query_bytes })
    }

    /// Answers queries that stand back to back with answers that do; one bad query refuses all.
    pub(crate) fn answer(&self, queries: &[u8]) -> std::result::Result<Vec<u8>, Problem> {
        let batch: Vec<_> =
            queries.chunks(self.query_bytes.max(1)).map(|query| (ErasedSession::default(), query)).collect();
        let mut answers = Vec::new();
        for (position, answer) in self.server.answer_many(&batch).into_iter().enumerate() {
            let of_query = |error| Problem::of_query(error, (position, batch.len()), self.version);
            answers.extend_from_slice(&answer.map_err(of_query)?);
        }
        Ok(answers)
    }
}

/// How many queries a request may hold: enough for one key, and no more than fit in [`BATCH_BYTES`].
fn max_batch(description: &Description, lookups_per_key: usize) -> usize {
    let longest = description.sizes.query.max(description.sizes.answer).max(1);
    let fitting = usize::try_from(BATCH_BYTES / longest).unwrap_or(usize::MAX).clamp(1, MAX_BATCH);
    fitting.max(lookups_per_key.div_ceil(description.limits.batch.max(1)))
}
