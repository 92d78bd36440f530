//! What the service says of a database, as JSON.

use std::collections::BTreeMap;

use papir_core::{Description, Privacy};
use serde::Serialize;

/// The answer to `GET /v1/databases`.
#[derive(Serialize)]
pub(crate) struct List {
    pub(crate) databases: Vec<Summary>,
}

/// One line of the list.
#[derive(Clone, Serialize)]
pub(crate) struct Summary {
    pub(crate) name: String,
    pub(crate) scheme: &'static str,
    pub(crate) version: String,
    pub(crate) records: u64,
    pub(crate) record_bits: u64,
    pub(crate) keyed: bool,
}

/// The answer to `GET /v1/databases/{name}`.
#[derive(Clone, Serialize)]
pub(crate) struct Info {
    #[serde(flatten)]
    pub(crate) summary: Summary,
    /// Records that one key's lookup fetches; absent where there are no keys.
    pub(crate) lookups_per_key: Option<usize>,
    /// Most queries in one request.
    pub(crate) max_batch: usize,
    pub(crate) private: bool,
    pub(crate) sizes: SizesInfo,
    /// Absent where there is nothing to break.
    pub(crate) security_bits: Option<f64>,
    pub(crate) security_source: Option<&'static str>,
    /// Absent (null) where an answer cannot fail to decode.
    pub(crate) failure_log2: Option<f64>,
    pub(crate) parameters: BTreeMap<&'static str, String>,
}

/// Lengths in bytes, envelopes included.
#[derive(Clone, Serialize)]
pub(crate) struct SizesInfo {
    /// What a client fetches once a version: the scheme's public part and the keyword layout.
    bundle: u64,
    public: u64,
    hint: u64,
    keys: u64,
    query: u64,
    answer: u64,
    database: u64,
    material: u64,
}

impl Info {
    pub(crate) fn new(
        summary: Summary,
        description: Description,
        lookups_per_key: Option<usize>,
        max_batch: usize,
        bundle: u64,
    ) -> Self {
        let sizes = description.sizes;
        Self {
            summary,
            lookups_per_key,
            max_batch,
            private: description.privacy == Privacy::Private,
            sizes: SizesInfo {
                bundle,
                public: sizes.public,
                hint: sizes.hint,
                keys: sizes.keys,
                query: sizes.query,
                answer: sizes.answer,
                database: sizes.database,
                material: sizes.material,
            },
            security_bits: description.security.as_ref().map(|security| security.bits),
            security_source: description.security.map(|security| security.source),
            failure_log2: Some(description.failure_log2).filter(|log2| log2.is_finite()),
            parameters: description.parameters.into_iter().collect(),
        }
    }
}
