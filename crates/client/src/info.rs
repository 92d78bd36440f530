//! What a server says of its databases.

use serde::Deserialize;

/// One database, as the server describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct DatabaseInfo {
    /// Its name.
    pub name: String,
    /// The scheme's name.
    pub scheme: String,
    /// Its version, 16 hexadecimal digits.
    pub version: String,
    /// The number of records (for a database of keys: of buckets).
    pub records: u64,
    /// The length of a record in bits.
    pub record_bits: u64,
    /// Whether it is looked up by key.
    pub keyed: bool,
    /// Records that one key's lookup fetches; `None` where there are no keys.
    pub lookups_per_key: Option<usize>,
    /// Most queries in one request.
    pub max_batch: usize,
    /// Whether the scheme hides what is asked.
    pub private: bool,
    /// Message and store sizes.
    pub sizes: SizesInfo,
    /// Estimated bits of security; `None` where there is nothing to break.
    pub security_bits: Option<f64>,
    /// log₂ of the probability that an honest answer does not decode; `None` where it always does.
    pub failure_log2: Option<f64>,
    /// The scheme's parameters by name.
    pub parameters: std::collections::BTreeMap<String, String>,
}

/// Lengths in bytes, envelopes included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct SizesInfo {
    /// What a client fetches once a version: the scheme's public part and the keyword layout.
    pub bundle: u64,
    /// The scheme's public part.
    pub public: u64,
    /// The part of it that depends on the database.
    pub hint: u64,
    /// Keys that a client registers.
    pub keys: u64,
    /// One query.
    pub query: u64,
    /// One answer.
    pub answer: u64,
    /// The encoded database.
    pub database: u64,
    /// What else the server precomputes.
    pub material: u64,
}

/// One line of the list of databases.
#[derive(Debug, Deserialize)]
pub(crate) struct Listed {
    pub(crate) name: String,
}

/// The list of databases.
#[derive(Debug, Deserialize)]
pub(crate) struct List {
    pub(crate) databases: Vec<Listed>,
}

impl List {
    /// The names, for a message.
    pub(crate) fn names(&self) -> String {
        let quoted: Vec<_> = self.databases.iter().map(|one| format!("`{}`", one.name)).collect();
        if quoted.is_empty() { "none".to_owned() } else { quoted.join(", ") }
    }
}

/// A refusal.
#[derive(Debug, Deserialize)]
pub(crate) struct Refusal {
    pub(crate) error: RefusalBody,
}

/// What a refusal says.
#[derive(Debug, Deserialize)]
pub(crate) struct RefusalBody {
    pub(crate) code: String,
    pub(crate) message: String,
}
