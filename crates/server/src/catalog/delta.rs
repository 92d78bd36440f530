//! The delta of one version, ready to answer.

use std::time::SystemTime;

use bytes::Bytes;
use papir_core::erased::{ErasedServer, ErasedSession};
use papir_core::{Description, NoProgress, Result, Version};
use papir_store::{Delta, parse_timestamp};

use super::checkpoint::Checkpoint;
use super::message_sizes::MessageSizes;

/// A delta that is served beside its base.
pub(crate) struct ServedDelta {
    server: Box<dyn ErasedServer>,
    pub(crate) version: Version,
    pub(crate) description: Description,
    /// Number of changed keys or records.
    pub(crate) entries: u64,
    /// Number of records of base and delta together; `None` for a database with keys.
    pub(crate) records: Option<u64>,
    /// The public part that clients download.
    pub(crate) public_part: Bytes,
    /// Queries needed for one key or index.
    pub(crate) queries_per_lookup: usize,
    /// Bytes of the file, in memory or mapped.
    pub(crate) snapshot: u64,
    /// Time at which it was written.
    pub(crate) published: Option<SystemTime>,
    /// Time at which the first of its new changes arrived, in milliseconds since 1970.
    pub(crate) arrived: Option<u64>,
    /// The owner's signed checkpoint of snapshot and delta; `None` if they are not signed.
    pub(crate) checkpoint: Option<Checkpoint>,
}

impl ServedDelta {
    /// Serves an opened delta of the database `name`. Refuses a signed delta of another database.
    pub(super) fn new(delta: Delta, name: &str) -> papir_checkpoint::Result<Self> {
        let public_part = delta.part().encode().into();

        let Delta {
            metadata,
            server,
            layout,
            log,
            file_bytes,
            ..
        } = delta;
        let description = server.describe();
        let checkpoint = match log {
            Some(log) => Some(Checkpoint::of(&log, name)?),
            None => None,
        };

        Ok(Self {
            version: server.version(),
            entries: metadata.entries,
            records: metadata.records,
            public_part,
            queries_per_lookup: layout.lookups().div_ceil(description.limits.batch.max(1)),
            snapshot: file_bytes,
            published: parse_timestamp(&metadata.created),
            arrived: metadata.arrived,
            checkpoint,
            description,
            server,
        })
    }

    /// The lengths of the delta's messages.
    pub(super) fn sizes(&self) -> MessageSizes {
        let sizes = &self.description.sizes;
        MessageSizes {
            query: sizes.query,
            answer: sizes.answer,
            public_part: self.public_part.len() as u64,
            prefilter: 0,
            keys: 0,
            records_per_lookup: self.queries_per_lookup,
            records_per_query: 1,
        }
    }

    /// Length of a query in bytes.
    pub(super) fn query_bytes(&self) -> usize {
        (self.description.sizes.query as usize).max(1)
    }

    /// Number of queries for a number of lookups.
    pub(super) fn queries_of(&self, lookups: usize) -> usize {
        lookups * self.queries_per_lookup
    }

    /// Length in bytes of the queries for a number of lookups.
    pub(super) fn bytes_of(&self, lookups: usize) -> usize {
        self.queries_of(lookups) * self.query_bytes()
    }

    /// Number of concatenated queries.
    pub(super) fn count(&self, queries: &[u8]) -> usize {
        queries.len() / self.query_bytes()
    }

    /// Length in bytes of the answers to concatenated queries.
    pub(super) fn answer_bytes(&self, queries: &[u8]) -> usize {
        self.count(queries) * self.description.sizes.answer as usize
    }

    /// Memory that answering queries needs besides the delta.
    pub(super) fn footprint(&self, queries: &[u8]) -> u64 {
        let sizes = &self.description.sizes;
        (self.count(queries) as u64).saturating_mul(sizes.query.max(sizes.answer))
    }

    /// Answers the concatenated queries of several requests: one answer per query, in order.
    pub(super) fn answer<'q>(
        &self,
        requests: impl Iterator<Item = &'q [u8]>,
    ) -> Vec<Result<Vec<u8>>> {
        let queries = requests.flat_map(|queries| queries.chunks(self.query_bytes()));
        let batch: Vec<_> = queries
            .map(|query| (ErasedSession::default(), query))
            .collect();

        if batch.is_empty() {
            return Vec::new();
        }
        self.server.answer_many(&batch, &NoProgress)
    }
}
