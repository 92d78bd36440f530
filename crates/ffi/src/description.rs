//! A database's description, and the costs of a connection.

use std::time::Duration;

use papir_client::aio::Connection;

/// The service's description of a database.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct DatabaseInfo {
    /// The database's name.
    pub name: String,
    /// The scheme's name.
    pub scheme: String,
    /// The version in use, 16 hexadecimal digits.
    pub version: String,
    /// Number of records; in a keyed database, of buckets.
    pub records: u64,
    /// Length of a record in bits.
    pub record_bits: u64,
    /// Set if values are looked up by keys.
    pub keyed: bool,
    /// Estimated security in bits.
    pub security_bits: Option<f64>,
    /// Binary logarithm of the bound on the probability that a lookup fails.
    pub failure_log2: Option<f64>,
    /// Length of a query in bytes.
    pub query_bytes: u64,
    /// Length of an answer in bytes.
    pub answer_bytes: u64,
    /// The root of a verifiable database.
    pub root: Option<String>,
    /// The public key of the owner who signed the version in use.
    pub owner: Option<String>,
}

impl DatabaseInfo {
    pub(crate) fn of(connection: &Connection) -> Self {
        let info = connection.info().clone();

        Self {
            name: info.name,
            scheme: info.scheme,
            // Of the connection and not of the description: the service may have a newer version by
            // now.
            version: connection.lookup().version().to_string(),
            records: info.records,
            record_bits: info.record_bits,
            keyed: info.keyed,
            security_bits: info.security_bits,
            failure_log2: info.failure_log2,
            query_bytes: info.sizes.query,
            answer_bytes: info.sizes.answer,
            root: connection.lookup().root().map(|root| root.to_string()),
            owner: connection
                .checkpoint()
                .map(|accepted| accepted.owner.to_string()),
        }
    }
}

/// Costs of a connection. Bytes are those of HTTP bodies.
#[derive(Clone, Copy, Debug, PartialEq, uniffi::Record)]
pub struct Costs {
    /// Bytes of public parts, which are fetched once for a version.
    pub public_bytes: u64,
    /// Bytes of keys that a registered client has sent.
    pub registration_bytes: u64,
    /// Bytes of queries.
    pub query_bytes: u64,
    /// Bytes of answers.
    pub answer_bytes: u64,
    /// Number of requests.
    pub requests: u64,
    /// Time to make queries.
    pub query: Duration,
    /// Time from sending queries to receiving the answers.
    pub round_trip: Duration,
    /// Time to decode answers.
    pub extract: Duration,
}

impl Costs {
    pub(crate) fn of(costs: papir_client::Costs) -> Self {
        Self {
            public_bytes: costs.public_bytes,
            registration_bytes: costs.registration_bytes,
            query_bytes: costs.query_bytes,
            answer_bytes: costs.answer_bytes,
            requests: costs.requests,
            query: costs.query,
            round_trip: costs.round_trip,
            extract: costs.extract,
        }
    }
}
