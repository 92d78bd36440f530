//! What a snapshot says of itself, as JSON.

use std::time::{SystemTime, UNIX_EPOCH};

use papir_lookup::{BucketTarget, TableReport};
use serde::{Deserialize, Serialize};

/// The metadata section of a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// The database's name.
    pub name: String,
    /// When it was built: date and time of day, UTC (RFC 3339).
    pub created: String,
    /// The version of papir that built it.
    pub papir: String,
    /// Where the records came from.
    pub source: SourceSummary,
    /// The scheme's name.
    pub scheme: String,
    /// The database version, 16 hexadecimal digits.
    pub version: String,
    /// Records of the scheme's database.
    pub records: u64,
    /// Bits of one record.
    pub record_bits: u64,
    /// The root that a verifiable database commits to, 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The table of keys; absent where records are looked up by index.
    pub keyword: Option<KeywordSummary>,
    /// What the scheme's parameters were chosen for, where that was a goal.
    #[serde(default)]
    pub goal: Option<String>,
    /// When it was last updated, as `created`.
    #[serde(default)]
    pub updated: Option<String>,
    /// How often it was updated since it was built.
    #[serde(default)]
    pub updates: u64,
}

/// Where a database's records came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSummary {
    /// The source's name, without its folder; `standard input`.
    pub file: String,
    /// `csv`, `jsonl`, `parquet`, `sqlite`, `folder` or `raw`.
    pub format: String,
    /// Its length in bytes; that of all files in a folder.
    pub bytes: u64,
    /// Entries or records that it holds.
    pub entries: u64,
    /// Bad rows of it that were left out; 0 in files from before they were counted.
    #[serde(default)]
    pub skipped: u64,
    /// Its column of keys, where it has one.
    #[serde(default)]
    pub key: Option<String>,
    /// Its columns of values.
    #[serde(default)]
    pub values: Vec<String>,
}

/// The report of a keyword table; see [`TableReport`]. All sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeywordSummary {
    /// Keys in the table.
    pub entries: u64,
    /// Entries that gave way to another of the same key.
    pub duplicates: u64,
    /// Records that every lookup fetches.
    pub lookups: u64,
    /// The longest value.
    pub longest_value: u64,
    /// All buckets.
    pub table_bytes: u64,
    /// All values with one tag each.
    pub tagged_bytes: u64,
    /// All keys; absent once keys were arranged again, which only needs their ids.
    #[serde(default)]
    pub key_bytes: Option<u64>,
    /// The layout that clients fetch.
    pub layout_bytes: u64,
    /// log₂ of the probability that a key without an entry is found.
    pub wrong_positive_log2: f64,
    /// What length buckets were to have.
    #[serde(default)]
    pub bucket: BucketWish,
}

/// A [`BucketTarget`] as metadata says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketWish {
    /// Bytes of a bucket.
    pub bytes: u32,
    /// Whether values that are longer are cut, instead of the bucket being made longer.
    pub cut: bool,
}

impl From<BucketTarget> for BucketWish {
    fn from(target: BucketTarget) -> Self {
        match target {
            BucketTarget::Grow(bytes) => Self { bytes, cut: false },
            BucketTarget::AtMost(bytes) => Self { bytes, cut: true },
        }
    }
}

impl From<BucketWish> for BucketTarget {
    fn from(wish: BucketWish) -> Self {
        if wish.cut { Self::AtMost(wish.bytes) } else { Self::Grow(wish.bytes) }
    }
}

impl Default for BucketWish {
    fn default() -> Self {
        BucketTarget::default().into()
    }
}

impl KeywordSummary {
    /// Of an encrypted database: without the lengths of keys and values, which tell what an update changed.
    pub(crate) fn concealed(self) -> Self {
        Self { tagged_bytes: self.table_bytes, key_bytes: None, ..self }
    }

    /// The summary of a table whose buckets were to have such a length.
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
            wrong_positive_log2: report.wrong_positive_log2,
            bucket: bucket.into(),
        }
    }

    /// Storage overhead: table over tags and values.
    pub fn overhead(&self) -> f64 {
        self.table_bytes as f64 / self.tagged_bytes as f64
    }
}

/// The time as RFC 3339 in UTC, to the second.
pub fn timestamp(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, rest) = (seconds / 86400, seconds % 86400);
    let (year, month, day) = civil(days as i64);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of the Gregorian calendar, `days` after 1970-01-01 (before, where negative).
///
/// Counts from 1 March of the year 0, so that the leap day is a year's last and months have the
/// lengths 31, 30, 31, 30, 31 over and over: month m starts on day ⌊(153 m + 2) / 5⌋.
pub(crate) fn civil(days: i64) -> (i64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097) as u64);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era as i64 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }
}
