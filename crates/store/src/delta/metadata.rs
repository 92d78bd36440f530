//! Metadata of a delta, stored as JSON.

use serde::{Deserialize, Serialize};

use crate::snapshot::Followed;

/// The section `delta` of a delta's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeltaMetadata {
    /// The database's name.
    pub name: String,
    /// The version of the base, 16 hexadecimal digits.
    pub base: String,
    /// The version of the delta, 16 hexadecimal digits.
    pub version: String,
    /// Time of writing, UTC (RFC 3339).
    pub created: String,
    /// The version of papir that wrote it.
    pub papir: String,
    /// The scheme's name.
    pub scheme: String,
    /// Number of changed keys or records.
    pub entries: u64,
    /// Number of records of base and delta together; absent for a database with keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// The place in a followed source up to which its changes are in this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<Followed>,
    /// The time at which the first of its new changes arrived, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<u64>,
}
