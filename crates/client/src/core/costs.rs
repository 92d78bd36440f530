//! Costs of a connection.

use std::time::Duration;

/// Costs of a connection since it was opened. Bytes count HTTP bodies only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Bytes of fetched public parts, including hints.
    pub public_bytes: u64,
    /// Bytes of client keys sent to register, in schemes with client keys.
    pub registration_bytes: u64,
    /// Bytes of queries sent.
    pub query_bytes: u64,
    /// Bytes of answers received.
    pub answer_bytes: u64,
    /// Number of query requests, including requests that were repeated with fresh queries.
    pub requests: u64,
    /// Time to fetch public parts and to build clients from them.
    pub fetch: Duration,
    /// Time to make queries.
    pub query: Duration,
    /// Time from sending queries to receiving the answers, including waits for retries and for
    /// tickets.
    pub round_trip: Duration,
    /// Time to decode answers.
    pub extract: Duration,
}
