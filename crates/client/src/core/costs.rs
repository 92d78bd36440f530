//! Costs of a connection.

use std::time::Duration;

/// Costs of a connection since it was opened. Bytes are those of HTTP bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Bytes of public parts fetched, hints included.
    pub public_bytes: u64,
    /// Bytes of queries sent.
    pub query_bytes: u64,
    /// Bytes of answers received.
    pub answer_bytes: u64,
    /// Query requests, those repeated with fresh queries included.
    pub requests: u64,
    /// Time to fetch the public part and make a client of it.
    pub fetch: Duration,
    /// Time to make queries.
    pub query: Duration,
    /// Time from sending queries to receiving the answers, advised waits included.
    pub round_trip: Duration,
    /// Time to open answers.
    pub extract: Duration,
}
