//! Description of a scheme's parameters: sizes, security, limits.

use crate::cost::Work;
use crate::{Error, FailureBound, Result, Shape};

/// Longest query, answer, ticket or set of client keys: 1 GiB.
pub const MAX_MESSAGE_BYTES: u64 = 1 << 30;
/// Longest public part: 4 GiB.
pub const MAX_PUBLIC_BYTES: u64 = 4 << 30;

/// Exact sizes in bytes of a scheme's messages, including envelopes, and of its stored data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The public part that a client downloads once per version, including the hint.
    pub public: u64,
    /// The part of `public` that depends on the records.
    pub hint: u64,
    /// The keys that a client registers once (0 without client keys).
    pub keys: u64,
    /// One ticket, which the server stores for each prepared query of a registered client (0
    /// without tickets).
    pub ticket: u64,
    /// The part of a query with the client's keys (0 if keys are registered).
    pub query_keys: u64,
    /// One query.
    pub query: u64,
    /// The part of a query that a client can send ahead (0 if the scheme has no such part).
    pub ahead: u64,
    /// A query whose key was sent ahead (0 if the scheme sends no keys ahead).
    pub online: u64,
    /// One answer. If clients may send keys ahead, this is the longest answer.
    pub answer: u64,
    /// The encoded database, which the server reads for every answer.
    pub database: u64,
    /// Other data that the server precomputes from the database and the reference string.
    pub material: u64,
    /// The matrices that a device holds and answers from (0 if the CPU does most of an answer).
    pub device: u64,
    /// Bytes of records that a client can read after one lookup: all that share a ring element, a
    /// unit or a column with its own, or all records if the hint is as long as they are. `None` if
    /// the scheme does not state it.
    pub seen: Option<u64>,
}

impl Sizes {
    /// Checks the lengths of all messages against their maxima. The lengths follow from the
    /// parameters, which a client gets from the server. The client therefore checks them before it
    /// allocates memory.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for a public part above [`MAX_PUBLIC_BYTES`], or another message
    /// above [`MAX_MESSAGE_BYTES`].
    pub fn check(&self) -> Result<()> {
        let messages = [
            ("the length of a public part", self.public, MAX_PUBLIC_BYTES),
            ("the length of client keys", self.keys, MAX_MESSAGE_BYTES),
            ("the length of a ticket", self.ticket, MAX_MESSAGE_BYTES),
            ("the length of a query", self.query, MAX_MESSAGE_BYTES),
            ("the length of an answer", self.answer, MAX_MESSAGE_BYTES),
        ];

        match messages.into_iter().find(|(_, found, most)| found > most) {
            Some((what, found, most)) => Err(Error::out_of_bounds(
                what,
                found,
                format!("at most {most} bytes"),
            )),
            None => Ok(()),
        }
    }
}

/// An estimate of concrete security, with its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Security {
    /// Estimated bits of security.
    pub bits: f64,
    /// The row of the parameter table with the estimate.
    pub source: &'static str,
}

/// Privacy of a scheme's queries towards the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// The scheme hides the index.
    Private,
    /// The scheme does not hide the index, for the contained reason. Serving it needs an
    /// acknowledgement.
    NotPrivate(&'static str),
}

/// The caller's acknowledgement that a scheme may not hide the index.
///
/// A scheme that looks private but is not refuses to prepare a database or create a client without
/// it: see [`Parameters::with_terms`](crate::scheme::Parameters::with_terms).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPrivate(());

impl NotPrivate {
    /// Acknowledges that the server, and anyone who sees a query, learns which record it is for.
    pub const fn acknowledged() -> Self {
        Self(())
    }
}

/// The cost of changing records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateCost {
    /// Work proportional to the changed records.
    PerRecord,
    /// Work for each pack that contains changed records, independent of their number. Batching
    /// changes therefore saves work.
    PerPack,
    /// The work of a new setup.
    Rebuild,
}

/// A scheme's limits; the conformance suite checks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of records.
    pub records: u64,
    /// Maximum length of a record in bits.
    pub record_bits: u64,
    /// Maximum number of indices in one query.
    pub batch: usize,
    /// True if a client must register keys before its first query.
    pub client_keys: bool,
    /// True if each query consumes a ticket.
    pub tickets: bool,
    /// True if databases are encrypted under a key of their owner, which setup and registration
    /// need: see [`crate::scheme::Parameters::with_terms`].
    pub owner_key: bool,
    /// The cost of an update.
    pub update: UpdateCost,
}

/// The properties of a prepared database, as `papir inspect` prints them.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The scheme's name.
    pub scheme: &'static str,
    /// The scheme's privacy.
    pub privacy: Privacy,
    /// Number and length of the records.
    pub shape: Shape,
    /// Sizes of messages and stored data.
    pub sizes: Sizes,
    /// Estimated security; `None` if the scheme encrypts nothing.
    pub security: Option<Security>,
    /// log₂ of the computed probability that an honest answer does not decode. The answer to a
    /// batch decodes only if all its records do.
    pub failure_log2: f64,
    /// The bound on the failure probability for which the parameters were chosen.
    pub failure_bound: FailureBound,
    /// The scheme's limits.
    pub limits: Limits,
    /// Names and values of the parameters, in the paper's symbols.
    pub parameters: Vec<(&'static str, String)>,
    /// Operation counts of the scheme's four operations.
    pub work: Work,
}

impl Description {
    /// Returns log₂ of a bound on the probability that a lookup of `records` records fails because
    /// at least one answer does not decode. A lookup by key may read several records, if a value is
    /// longer than a bucket.
    ///
    /// It covers decoding only. False positives of a keyed table, and batches whose indices cannot
    /// be placed, have their own probabilities.
    pub fn lookup_failure_log2(&self, records: usize) -> f64 {
        let answers = records.div_ceil(self.limits.batch.max(1)).max(1);
        (self.failure_log2 + (answers as f64).log2()).min(0.0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_fails_as_often_as_all_its_answers() {
        let limits = Limits {
            records: 1,
            record_bits: 1,
            batch: 1,
            client_keys: false,
            tickets: false,
            owner_key: false,
            update: UpdateCost::Rebuild,
        };
        let description = |batch, failure_log2| Description {
            scheme: "test",
            privacy: Privacy::Private,
            shape: Shape::new(1, 1).unwrap(),
            sizes: Sizes::default(),
            security: None,
            failure_log2,
            failure_bound: FailureBound::DEFAULT,
            limits: Limits { batch, ..limits },
            parameters: Vec::new(),
            work: Work::default(),
        };

        for (batch, records, expected) in [
            (1, 1, -40.0),
            (1, 2, -39.0),
            (1, 16, -36.0),
            (16, 16, -40.0),
            (16, 17, -39.0),
            (1, 0, -40.0),
        ] {
            let found = description(batch, -40.0).lookup_failure_log2(records);
            assert_eq!(found, expected, "{records} records in batches of {batch}");
        }

        assert_eq!(
            description(1, f64::NEG_INFINITY).lookup_failure_log2(9),
            f64::NEG_INFINITY
        );
        assert_eq!(description(1, -1.0).lookup_failure_log2(9), 0.0);
    }
}
