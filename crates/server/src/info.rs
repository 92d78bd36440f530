//! What the service says of a database, as JSON.

use std::collections::BTreeMap;

use papir_core::{Description, Privacy};
use serde::Serialize;
use utoipa::ToSchema;

use crate::memory::{self, Memory};
use crate::versions::Standing;

/// The answer to `GET /v1/databases`.
#[derive(Serialize, ToSchema)]
pub(crate) struct List {
    pub(crate) databases: Vec<Summary>,
}

/// One line of the list.
#[derive(Clone, Serialize, ToSchema)]
pub(crate) struct Summary {
    pub(crate) name: String,
    pub(crate) scheme: &'static str,
    pub(crate) version: String,
    pub(crate) records: u64,
    pub(crate) record_bits: u64,
    pub(crate) keyed: bool,
}

/// The answer to `GET /v1/databases/{name}`: its newest version, and what else is there.
#[derive(Serialize, ToSchema)]
pub(crate) struct Detail {
    #[serde(flatten)]
    info: Info,
    /// Older versions that are still answered, the newest of them first.
    previous_versions: Vec<PreviousVersion>,
    memory: Memory,
}

/// An older version that is still answered.
#[derive(Serialize, ToSchema)]
pub(crate) struct PreviousVersion {
    version: String,
    /// For how many seconds more.
    seconds_left: u64,
}

impl Detail {
    /// `None` without any version.
    pub(crate) fn of(standing: &[Standing]) -> Option<Self> {
        let previous = standing.iter().filter_map(|one| {
            let version = one.database.version().to_string();
            one.left.map(|left| PreviousVersion { version, seconds_left: left.as_secs() })
        });
        Some(Self {
            info: standing.first()?.database.info().clone(),
            previous_versions: previous.collect(),
            memory: memory::of(standing),
        })
    }
}

/// One version of a database.
#[derive(Clone, Serialize, ToSchema)]
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
#[derive(Clone, Serialize, ToSchema)]
pub(crate) struct SizesInfo {
    /// What a client fetches once a version: the scheme's public part and the keyword layout.
    bundle: u64,
    public: u64,
    pub(crate) hint: u64,
    keys: u64,
    query: u64,
    answer: u64,
    pub(crate) database: u64,
    pub(crate) material: u64,
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
