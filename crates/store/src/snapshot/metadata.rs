//! Metadata of a snapshot, stored as JSON.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use humantime::{format_rfc3339_seconds, parse_rfc3339};
use papir_lookup::{BucketTarget, TableReport};
use serde::{Deserialize, Serialize};

/// Time from 1970 to the last second of the year 9999, beyond which RFC 3339 has no form.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// The metadata section of a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// The database's name.
    pub name: String,
    /// Time of the build, UTC (RFC 3339).
    pub created: String,
    /// The version of papir that built it.
    pub papir: String,
    /// The source of the records.
    pub source: SourceSummary,
    /// The scheme's name.
    pub scheme: String,
    /// The database version, 16 hexadecimal digits.
    pub version: String,
    /// Number of records of the scheme's database.
    pub records: u64,
    /// Bits of a record.
    pub record_bits: u64,
    /// The root of a verifiable database, 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The keyword table; absent if records are looked up by index.
    pub keyword: Option<KeywordSummary>,
    /// The goal that the scheme's parameters were chosen for; absent without one.
    #[serde(default)]
    pub goal: Option<String>,
    /// The records that the owner lets each client see: `records`, `column` or `all`
    /// ([`papir_schemes::default_scheme::ClientsMaySee`]). Absent if the build did not choose the
    /// scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients_may_see: Option<String>,
    /// The bits of the filter of the keys; absent without one. Updates make the filter again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefilter: Option<u8>,
    /// Time of the last update, in the format of `created`.
    #[serde(default)]
    pub updated: Option<String>,
    /// Number of updates since the build.
    #[serde(default)]
    pub updates: u64,
    /// The place in a followed source up to which its changes are in this version; absent if none
    /// is followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<Followed>,
}

/// A place in a source of changes that grows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followed {
    /// Number of bytes before it.
    pub bytes: u64,
    /// Number of lines before it.
    pub lines: u64,
    /// BLAKE3 of the last bytes before it, at most 4,096, in hexadecimal digits: a source that was
    /// replaced has others.
    pub before: String,
}

/// The source of a database's records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSummary {
    /// The source's file name without its folder, or `standard input`; of several files that of the
    /// first, and the number of others.
    pub file: String,
    /// The name of its [`Format`](crate::Format), such as `csv`.
    pub format: String,
    /// Length of the source in bytes; for a folder, of all files together.
    pub bytes: u64,
    /// Number of entries or records read.
    pub entries: u64,
    /// Number of bad rows skipped; 0 in files from before this field existed.
    #[serde(default)]
    pub skipped: u64,
    /// The key column; absent without keys.
    #[serde(default)]
    pub key: Option<String>,
    /// The value columns.
    #[serde(default)]
    pub values: Vec<String>,
}

/// The report of a keyword table; see [`TableReport`]. All sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeywordSummary {
    /// Number of keys.
    pub entries: u64,
    /// Number of entries dropped because another had the same key.
    pub duplicates: u64,
    /// Number of records that every lookup fetches.
    pub lookups: u64,
    /// Length of the longest value.
    pub longest_value: u64,
    /// Length of all buckets.
    pub table_bytes: u64,
    /// Length of all values, each with its tag.
    pub tagged_bytes: u64,
    /// Length of all keys; absent after an update, which has only their ids.
    #[serde(default)]
    pub key_bytes: Option<u64>,
    /// Length of the layout that clients download.
    pub layout_bytes: u64,
    /// log₂ of the probability that a lookup of an absent key finds a value.
    pub wrong_positive_log2: f64,
    /// The target length of buckets.
    #[serde(default)]
    pub bucket: BucketSummary,
}

/// A [`BucketTarget`] in metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketSummary {
    /// Bytes of a bucket.
    pub bytes: u32,
    /// Cuts longer values into chunks, instead of growing the bucket.
    pub cut: bool,
}

impl From<BucketTarget> for BucketSummary {
    fn from(target: BucketTarget) -> Self {
        match target {
            BucketTarget::Grow(bytes) => Self { bytes, cut: false },
            BucketTarget::AtMost(bytes) => Self { bytes, cut: true },
        }
    }
}

impl From<BucketSummary> for BucketTarget {
    fn from(summary: BucketSummary) -> Self {
        if summary.cut {
            Self::AtMost(summary.bytes)
        } else {
            Self::Grow(summary.bytes)
        }
    }
}

impl Default for BucketSummary {
    fn default() -> Self {
        BucketTarget::default().into()
    }
}

impl KeywordSummary {
    /// The summary for an encrypted database. It omits the lengths of keys and values, since their
    /// difference between two versions would reveal something about the changes.
    pub(crate) fn concealed(self) -> Self {
        Self {
            tagged_bytes: self.table_bytes,
            key_bytes: None,
            ..self
        }
    }

    /// The summary of a table built for this bucket target.
    pub(crate) fn new(report: &TableReport, bucket: BucketTarget) -> Self {
        Self {
            entries: report.entries,
            duplicates: report.duplicates,
            lookups: report.lookups,
            longest_value: report.longest_value,
            table_bytes: report.table_bytes,
            tagged_bytes: report.tagged_bytes,
            key_bytes: report.key_bytes,
            layout_bytes: report.layout_bytes,
            wrong_positive_log2: report.false_positive_log2,
            bucket: bucket.into(),
        }
    }

    /// Storage overhead: ratio of the table to tags and values.
    pub fn overhead(&self) -> f64 {
        self.table_bytes as f64 / self.tagged_bytes as f64
    }
}

/// Formats a time as RFC 3339 in UTC, to the second. Times before 1970 and after 9999 become the
/// first and the last second of these years.
pub fn timestamp(time: SystemTime) -> String {
    let since = time
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .min(LAST);
    format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

/// Parses a time in the form that [`timestamp`] writes; `None` for any other.
pub fn parse_timestamp(text: &str) -> Option<SystemTime> {
    // The parser also reads fractions, leap seconds and `+00:00`, which are written differently.
    parse_rfc3339(text)
        .ok()
        .filter(|time| timestamp(*time) == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_dates() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(timestamp(time), expected);
            assert_eq!(parse_timestamp(expected), Some(time));
        }
    }

    #[test]
    fn times_without_a_form_become_the_nearest_one() {
        assert_eq!(
            timestamp(UNIX_EPOCH - Duration::from_secs(1)),
            "1970-01-01T00:00:00Z"
        );
        assert_eq!(
            timestamp(UNIX_EPOCH + LAST + Duration::from_secs(1)),
            "9999-12-31T23:59:59Z"
        );
    }

    #[test]
    fn other_forms_are_no_times() {
        for text in [
            "",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-00T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00+01:00",
            "2026-01-01T00:00:00+00:00",
            "2026-01-01T00:00:00.5Z",
            "2026-06-30T23:59:60Z",
            "2026-01-01T00:00:0éZ",
        ] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
    }
}
