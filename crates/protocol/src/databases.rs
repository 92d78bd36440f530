//! JSON descriptions of databases.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

/// The response to `GET /v1/databases`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema), schema(as = List))]
pub struct DatabaseList {
    /// One entry for each database.
    pub databases: Vec<DatabaseSummary>,
}

/// One entry of the list of databases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema), schema(as = Summary))]
pub struct DatabaseSummary {
    /// The database's name.
    pub name: String,
    /// The scheme's name.
    pub scheme: String,
    /// The newest version, 16 hexadecimal digits.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[0-9a-f]{16}$"))]
    pub version: String,
    /// The number of records; in a keyed database, of buckets.
    pub records: u64,
    /// The length of a record in bits.
    pub record_bits: u64,
    /// True if records are looked up by key.
    pub keyed: bool,
}

/// The description of one version of a database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema), schema(as = Info))]
pub struct DatabaseInfo {
    /// The database's name.
    pub name: String,
    /// The scheme's name.
    pub scheme: String,
    /// The version, 16 hexadecimal digits: of the base, if there is a delta.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[0-9a-f]{16}$"))]
    pub version: String,
    /// The number of records; in a keyed database, of buckets.
    pub records: u64,
    /// The length of a record in bits.
    pub record_bits: u64,
    /// True if records are looked up by key.
    pub keyed: bool,
    /// Number of records that a lookup of one key fetches; null if the database is not keyed.
    pub lookups_per_key: Option<usize>,
    /// Maximum number of queries in one request.
    pub max_batch: usize,
    /// True if the scheme hides the query from the server.
    pub private: bool,
    /// Message and storage sizes.
    pub sizes: SizesInfo,
    /// Estimated bits of security; null if there is no estimate.
    pub security_bits: Option<f64>,
    /// The source of the security estimate.
    pub security_source: Option<String>,
    /// log₂ of the probability that a lookup fails because an honest answer does not decode; null
    /// if it never fails.
    pub failure_log2: Option<f64>,
    /// The scheme's parameters by name.
    pub parameters: BTreeMap<String, String>,
    /// The owner's newest checkpoint; absent if the database is not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub checkpoint: Option<CheckpointInfo>,
    /// The delta, which every lookup queries as well; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub delta: Option<DeltaInfo>,
    /// True if registered clients may send short messages; absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_messages: bool,
    /// The filter of the keys, which a client may download once per version; absent if there is
    /// none. The public part states the same, and clients believe only that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub prefilter: Option<PrefilterInfo>,
}

/// The filter of a database's keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct PrefilterInfo {
    /// The bits b: an absent key is in the filter with probability 2⁻ᵇ.
    pub bits: u8,
    /// The length in bytes.
    pub bytes: u64,
    /// BLAKE3 of the filter, 64 hexadecimal digits.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[0-9a-f]{64}$"))]
    pub blake3: String,
}

/// The delta: the changes since the base, in a small database beside it. Lengths are in bytes and
/// include envelopes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct DeltaInfo {
    /// The version, 16 hexadecimal digits. Queries to base and delta together are for this version.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[0-9a-f]{16}$"))]
    pub version: String,
    /// The scheme's name.
    pub scheme: String,
    /// The number of changed keys or records.
    pub entries: u64,
    /// The number of records of base and delta together; null if the database is keyed.
    pub records: Option<u64>,
    /// Length of the public part, which a client downloads once per version of the delta.
    pub public: u64,
    /// One query.
    pub query: u64,
    /// One answer.
    pub answer: u64,
    /// Number of queries for one key or index.
    pub queries_per_lookup: usize,
}

/// The sequence and the time of a signed checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct CheckpointInfo {
    /// The sequence of the version in the database's log, from 0.
    pub sequence: u64,
    /// The time of signing, in seconds since 1970, UTC.
    pub time: u64,
}

impl DatabaseInfo {
    /// The database's entry in the list.
    pub fn summary(&self) -> DatabaseSummary {
        DatabaseSummary {
            name: self.name.clone(),
            scheme: self.scheme.clone(),
            version: self.version.clone(),
            records: self.records,
            record_bits: self.record_bits,
            keyed: self.keyed,
        }
    }
}

/// Sizes of messages and stored data in bytes, including envelopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct SizesInfo {
    /// The bundle, which a client downloads once per version: the scheme's public part and the
    /// keyword layout.
    pub bundle: u64,
    /// The scheme's public part.
    pub public: u64,
    /// The part of the public part that depends on the records.
    pub hint: u64,
    /// The keys that a client registers.
    pub keys: u64,
    /// One query.
    pub query: u64,
    /// One answer.
    pub answer: u64,
    /// The encoded database.
    pub database: u64,
    /// Other data that the server precomputes.
    pub material: u64,
}

/// The response to `GET /v1/databases/{name}`: the newest version, the older versions that the
/// server still answers, and the memory of all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema), schema(as = Detail))]
pub struct DatabaseDetail {
    /// The newest version.
    #[serde(flatten)]
    pub info: DatabaseInfo,
    /// Older versions that the server still answers, newest first.
    pub previous_versions: Vec<PreviousVersion>,
    /// Memory of all answered versions.
    pub memory: Memory,
}

/// An older version that the server still answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct PreviousVersion {
    /// The version, 16 hexadecimal digits.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[0-9a-f]{16}$"))]
    pub version: String,
    /// Seconds until the server no longer answers it.
    pub seconds_left: u64,
}

/// Total memory of a database's answered versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Memory {
    /// Number of answered versions, including the newest.
    pub versions: usize,
    /// Bytes of snapshot files, in memory or mapped.
    pub snapshot: u64,
    /// Bytes of the encoded databases, in snapshot files or elsewhere.
    pub encoded: u64,
    /// Bytes of other precomputed data.
    pub material: u64,
    /// Bytes of the hints that clients download.
    pub hint: u64,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn info() -> DatabaseInfo {
        DatabaseInfo {
            name: "words".into(),
            scheme: "plain".into(),
            version: "0102030405060708".into(),
            records: 5,
            record_bits: 8,
            keyed: true,
            lookups_per_key: Some(1),
            max_batch: 64,
            private: false,
            sizes: SizesInfo {
                bundle: 1,
                public: 2,
                hint: 3,
                keys: 4,
                query: 5,
                answer: 6,
                database: 7,
                material: 8,
            },
            security_bits: Some(128.5),
            security_source: None,
            failure_log2: None,
            parameters: [("n", "1024"), ("a", "b")]
                .map(|(a, b)| (a.into(), b.into()))
                .into(),
            checkpoint: None,
            delta: None,
            short_messages: false,
            prefilter: None,
        }
    }

    const INFO: &str = concat!(
        r#"{"name":"words","scheme":"plain","version":"0102030405060708","records":5,"record_bits":8,"#,
        r#""keyed":true,"lookups_per_key":1,"max_batch":64,"private":false,"sizes":{"bundle":1,"public":2,"#,
        r#""hint":3,"keys":4,"query":5,"answer":6,"database":7,"material":8},"security_bits":128.5,"#,
        r#""security_source":null,"failure_log2":null,"parameters":{"a":"b","n":"1024"}"#,
    );

    #[test]
    fn golden_json_of_a_detail() {
        let detail = DatabaseDetail {
            info: info(),
            previous_versions: vec![PreviousVersion {
                version: "07".into(),
                seconds_left: 9,
            }],
            memory: Memory {
                versions: 2,
                snapshot: 1,
                encoded: 2,
                material: 3,
                hint: 4,
            },
        };

        let golden = format!(
            "{INFO}{}",
            concat!(
                r#","previous_versions":[{"version":"07","seconds_left":9}],"#,
                r#""memory":{"versions":2,"snapshot":1,"encoded":2,"material":3,"hint":4}}"#,
            )
        );
        assert_eq!(serde_json::to_string(&detail).unwrap(), golden);
        assert_eq!(
            serde_json::from_str::<DatabaseDetail>(&golden).unwrap(),
            detail
        );
        // A client reads the description and ignores the rest.
        assert_eq!(
            serde_json::from_str::<DatabaseInfo>(&golden).unwrap(),
            detail.info
        );
    }

    #[test]
    fn golden_json_of_a_signed_database() {
        let checkpoint = Some(CheckpointInfo {
            sequence: 3,
            time: 1_800_000_000,
        });
        let signed = DatabaseInfo {
            checkpoint,
            ..info()
        };

        let golden = format!("{INFO},\"checkpoint\":{{\"sequence\":3,\"time\":1800000000}}}}");
        assert_eq!(serde_json::to_string(&signed).unwrap(), golden);
        assert_eq!(
            serde_json::from_str::<DatabaseInfo>(&golden).unwrap(),
            signed
        );
    }

    #[test]
    fn golden_json_of_a_database_with_short_messages() {
        let short = DatabaseInfo {
            short_messages: true,
            ..info()
        };

        let golden = format!("{INFO},\"short_messages\":true}}");
        assert_eq!(serde_json::to_string(&short).unwrap(), golden);
        assert_eq!(
            serde_json::from_str::<DatabaseInfo>(&golden).unwrap(),
            short
        );
    }

    #[test]
    fn golden_json_of_a_database_with_a_delta() {
        let delta = DeltaInfo {
            version: "07".into(),
            scheme: "inspire".into(),
            entries: 2,
            records: None,
            public: 3,
            query: 4,
            answer: 5,
            queries_per_lookup: 1,
        };
        let changed = DatabaseInfo {
            delta: Some(delta),
            ..info()
        };

        let golden = format!(
            "{INFO}{}",
            concat!(
                r#","delta":{"version":"07","scheme":"inspire","entries":2,"records":null,"public":3,"query":4,"#,
                r#""answer":5,"queries_per_lookup":1}}"#,
            )
        );
        assert_eq!(serde_json::to_string(&changed).unwrap(), golden);
        assert_eq!(
            serde_json::from_str::<DatabaseInfo>(&golden).unwrap(),
            changed
        );
    }

    #[test]
    fn golden_json_of_a_database_with_a_prefilter() {
        let prefilter = Some(PrefilterInfo {
            bits: 8,
            bytes: 1000,
            blake3: "07".repeat(32),
        });
        let filtered = DatabaseInfo {
            prefilter,
            ..info()
        };

        let hash = "07".repeat(32);
        let golden =
            format!("{INFO},\"prefilter\":{{\"bits\":8,\"bytes\":1000,\"blake3\":\"{hash}\"}}}}");
        assert_eq!(serde_json::to_string(&filtered).unwrap(), golden);
        assert_eq!(
            serde_json::from_str::<DatabaseInfo>(&golden).unwrap(),
            filtered
        );
    }

    #[test]
    fn golden_json_of_a_list() {
        let list = DatabaseList {
            databases: vec![info().summary()],
        };
        let golden = concat!(
            r#"{"databases":[{"name":"words","scheme":"plain","version":"0102030405060708","records":5,"#,
            r#""record_bits":8,"keyed":true}]}"#,
        );
        assert_eq!(serde_json::to_string(&list).unwrap(), golden);
        assert_eq!(serde_json::from_str::<DatabaseList>(golden).unwrap(), list);
    }
}
