//! Lengths of a database's messages, also sealed for a relay.

use papir_core::Description;
use papir_lookup::delta::MAX_QUERIES_BYTES;
use papir_lookup::prefilter::PrefilterSummary;
use papir_lookup::{Bundle, KeywordLayout};
use papir_ohttp::{Kem, sealed_request_bytes, sealed_response_bytes};
use papir_protocol::limit;

/// Maximum number of queries in one request and in one batch, unless a single key needs more.
pub(super) const MAX_BATCH: usize = 64;
/// Limit on the total size of a request's queries, and of its answers: 16 MiB, unless a single key
/// needs more. The same limit holds for a batch of requests, including their client keys.
pub(super) const BATCH_BYTES: u64 = 16 << 20;
/// A bound of the bytes of a sealed message besides its body: host and path, and headers with a
/// token of up to 4 KiB and the numbers of [`MAX_BATCH`] tickets.
const HEAD_BYTES: u64 = 8 << 10;

/// Lengths in bytes of the messages of one database, or of the delta beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSizes {
    /// One query.
    pub query: u64,
    /// One answer.
    pub answer: u64,
    /// The public part with the layout of the keys, which a client downloads once per version.
    pub public_part: u64,
    /// The filter of the keys, which a client may download once per version; 0 without one, and of
    /// a delta, whose public part has it.
    pub prefilter: u64,
    /// The keys that a client registers; 0 for a scheme without registered clients.
    pub keys: u64,
    /// Number of records that a lookup fetches.
    pub records_per_lookup: usize,
    /// Number of records that a query fetches.
    pub records_per_query: usize,
}

/// Lengths in bytes of the longest request to a relay, and of the longest response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealedSizes {
    /// The longest request.
    pub request: u64,
    /// The longest response.
    pub response: u64,
}

impl MessageSizes {
    /// The lengths of a database's messages, of which each lookup fetches the records that
    /// `keyword` says, or one without a layout of keys.
    #[must_use]
    pub fn of(
        description: &Description,
        keyword: Option<&KeywordLayout>,
        is_verifiable: bool,
    ) -> Self {
        // Without the scheme's part, whose length is known: a hint takes long to encode.
        let layout = Bundle {
            scheme_public: Vec::new(),
            keyword: keyword.cloned(),
            commitment_top: is_verifiable.then_some([0; 32]),
            prefilter: None,
        };
        let layout_bytes = layout.encode().len() as u64;

        let sizes = &description.sizes;
        Self {
            query: sizes.query,
            answer: sizes.answer,
            public_part: sizes.public + layout_bytes,
            prefilter: 0,
            keys: sizes.keys,
            records_per_lookup: keyword.map_or(1, KeywordLayout::lookups),
            records_per_query: description.limits.batch,
        }
    }

    /// The lengths of the same database with a filter of its keys of this length, which its public
    /// part states.
    #[must_use]
    pub fn with_prefilter(self, bytes: u64) -> Self {
        Self {
            public_part: self.public_part + PrefilterSummary::BYTES,
            prefilter: bytes,
            ..self
        }
    }

    /// Maximum number of queries to the database in one request: as many as fit into 16 MiB, and
    /// their answers, and the queries to the `delta` beside them; at most 64, but enough for one
    /// key.
    #[must_use]
    pub fn max_batch(&self, delta: Option<&Self>) -> usize {
        let least = self.queries_of(1);
        let longest = self.query.max(self.answer);
        let most = fitting(longest, BATCH_BYTES).min(MAX_BATCH).max(least);
        let Some(delta) = delta else {
            return most;
        };

        self.queries_in(delta.lookups_beside()).min(most).max(least)
    }

    /// Maximum number of lookups in one request: as many as its queries have room for, and the
    /// queries to the `delta` beside them.
    pub(super) fn max_lookups(&self, delta: Option<&Self>) -> usize {
        let lookups = self.lookups_in(self.max_batch(delta));
        // One query to the database may have room for more lookups than the delta takes.
        delta.map_or(lookups, |delta| lookups.min(delta.lookups_beside()))
    }

    /// Maximum number of lookups whose queries to this delta are in one request, at least 1.
    fn lookups_beside(&self) -> usize {
        let changes = self.query.saturating_mul(self.queries_of(1) as u64);
        fitting(changes, MAX_QUERIES_BYTES)
    }

    /// The longest messages of clients behind a relay, at most: sealed in the chunked form under
    /// the longest kind of key, with their padding and 8 KiB for the head. The longest request has
    /// the largest number of queries, or a part of a client's keys; the longest response has the
    /// answers, the public part, or the filter of the keys. Lists of many databases, logs of signed
    /// databases and sets can be longer.
    #[must_use]
    pub fn sealed(&self, delta: Option<&Self>) -> SealedSizes {
        let queries = self.max_batch(delta);
        let mut request = self.query.saturating_mul(queries as u64);
        let mut response = self.answer.saturating_mul(queries as u64);
        // Longer keys are uploaded in parts.
        let keys = self.keys.min(limit::PART_BYTES as u64);
        let mut public_part = self.public_part.max(self.prefilter);

        if let Some(delta) = delta {
            let changes = delta.queries_of(self.max_lookups(Some(delta))) as u64;
            request = request.saturating_add(delta.query.saturating_mul(changes));
            response = response.saturating_add(delta.answer.saturating_mul(changes));
            public_part = public_part.max(delta.public_part);
        }

        let request = request.max(keys).saturating_add(HEAD_BYTES);
        let response = response.max(public_part).saturating_add(HEAD_BYTES);
        SealedSizes {
            request: sealed_request_bytes(request, Kem::XWing),
            response: sealed_response_bytes(response),
        }
    }

    /// Number of queries for a number of lookups.
    fn queries_of(&self, lookups: usize) -> usize {
        lookups
            .saturating_mul(self.records_per_lookup)
            .div_ceil(self.records_per_query.max(1))
    }

    /// Maximum number of lookups in a number of queries.
    fn lookups_in(&self, queries: usize) -> usize {
        queries.saturating_mul(self.records_per_query.max(1)) / self.records_per_lookup.max(1)
    }

    /// Number of queries that a number of lookups fills.
    fn queries_in(&self, lookups: usize) -> usize {
        lookups.saturating_mul(self.records_per_lookup.max(1)) / self.records_per_query.max(1)
    }
}

/// Number of messages of `bytes` bytes, at least 1, that fit into `most` bytes.
fn fitting(bytes: u64, most: u64) -> usize {
    let count = most / bytes.max(1);
    usize::try_from(count).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;

    fn sizes(query: u64, answer: u64) -> MessageSizes {
        MessageSizes {
            query,
            answer,
            public_part: 300,
            prefilter: 0,
            keys: 0,
            records_per_lookup: 1,
            records_per_query: 1,
        }
    }

    #[test]
    fn a_request_has_as_many_queries_as_fit() {
        for (query, answer, expected) in [
            (KIB, 64 * KIB, 64),
            (0, 0, 64),
            (KIB, 1024 * KIB, 16),
            (2048 * KIB, KIB, 8),
            (1 << 30, KIB, 1),
        ] {
            let found = sizes(query, answer).max_batch(None);
            assert_eq!(found, expected, "{query} {answer}");
        }

        let cut = MessageSizes {
            records_per_lookup: 80,
            ..sizes(KIB, KIB)
        };
        assert_eq!(cut.max_batch(None), 80, "one key needs them");
        let batched = MessageSizes {
            records_per_query: 32,
            ..cut
        };
        assert_eq!(batched.max_batch(None), 64);
    }

    #[test]
    fn queries_to_a_delta_limit_those_beside_them() {
        let base = sizes(KIB, KIB);
        assert_eq!(base.max_batch(Some(&sizes(KIB, KIB))), 64);
        assert_eq!(base.max_batch(Some(&sizes(1024 * KIB, KIB))), 16);
        assert_eq!(base.max_batch(Some(&sizes(1 << 30, KIB))), 1);

        let two = MessageSizes {
            records_per_lookup: 2,
            ..sizes(1024 * KIB, KIB)
        };
        assert_eq!(base.max_batch(Some(&two)), 8);
    }

    #[test]
    fn a_delta_limits_the_lookups_of_a_query_with_room_for_thousands() {
        let base = MessageSizes {
            records_per_query: 1 << 16,
            ..sizes(40, 40)
        };
        assert_eq!(base.max_lookups(None), 64 << 16);

        let delta = sizes(32 * KIB, KIB);
        assert_eq!(base.max_batch(Some(&delta)), 1);
        assert_eq!(base.max_lookups(Some(&delta)), 512);
        assert!(base.sealed(Some(&delta)).request < 20 << 20);
    }

    #[test]
    fn the_longest_messages_hold_all_others() {
        let bound = |request: u64, response: u64| SealedSizes {
            request: sealed_request_bytes(request + HEAD_BYTES, Kem::XWing),
            response: sealed_response_bytes(response + HEAD_BYTES),
        };
        let base = sizes(2 * KIB, 3 * KIB);
        assert_eq!(base.sealed(None), bound(128 * KIB, 192 * KIB));

        let delta = sizes(512 * KIB, KIB);
        let both = bound(32 * 514 * KIB, 32 * 4 * KIB);
        assert_eq!(base.sealed(Some(&delta)), both);

        let registered = MessageSizes {
            keys: 100 << 20,
            public_part: 1 << 30,
            ..base
        };
        assert_eq!(registered.sealed(None), bound(4 << 20, 1 << 30));
        let filtered = base.with_prefilter(3 << 20);
        assert_eq!(filtered.public_part, base.public_part + 41);
        assert_eq!(filtered.sealed(None), bound(128 * KIB, 3 << 20));

        // A service may state any lengths of its delta.
        let absurd = sizes(u64::MAX, u64::MAX);
        assert!(base.sealed(Some(&absurd)).response > 1 << 62);
    }
}
