//! Metadata of a snapshot, stored as JSON.

use std::ops::Range;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use papir_lookup::{BucketTarget, TableReport};
use serde::{Deserialize, Serialize};

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
    /// The goal that the scheme's parameters were chosen for, if any.
    #[serde(default)]
    pub goal: Option<String>,
    /// Time of the last update, in the format of `created`.
    #[serde(default)]
    pub updated: Option<String>,
    /// Number of updates since the build.
    #[serde(default)]
    pub updates: u64,
}

/// The source of a database's records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSummary {
    /// The source's file name without its folder, or `standard input`.
    pub file: String,
    /// `csv`, `jsonl`, `parquet`, `sqlite`, `folder` or `raw`.
    pub format: String,
    /// Length of the source in bytes; for a folder, of all files together.
    pub bytes: u64,
    /// Number of entries or records read.
    pub entries: u64,
    /// Number of bad rows skipped; 0 in files from before this field existed.
    #[serde(default)]
    pub skipped: u64,
    /// The key column, if any.
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
        if summary.cut { Self::AtMost(summary.bytes) } else { Self::Grow(summary.bytes) }
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
        Self { tagged_bytes: self.table_bytes, key_bytes: None, ..self }
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

/// Formats a time as RFC 3339 in UTC, to the second.
pub fn timestamp(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, rest) = (seconds / 86400, seconds % 86400);
    let (year, month, day) = civil(days as i64);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Parses a time in the form that [`timestamp`] writes; `None` for any other.
pub fn parse_timestamp(text: &str) -> Option<SystemTime> {
    let number = |range: Range<usize>| text.get(range)?.parse::<u64>().ok();
    let days = days_until(number(0..4)?, number(5..7)?, number(8..10)?)?;
    let seconds = (days * 24 + number(11..13)?) * 3600 + number(14..16)? * 60 + number(17..19)?;
    let time = UNIX_EPOCH + Duration::from_secs(seconds);
    // Dates that do not exist and other forms are written differently.
    (timestamp(time) == text).then_some(time)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar; `None` for earlier ones.
///
/// The inverse of [`civil`], which explains the count.
fn days_until(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    (year * 365 + leap_days + (153 * month + 2) / 5 + day).checked_sub(719_469)
}

/// Year, month and day of the Gregorian calendar, `days` after 1970-01-01 (negative: before).
///
/// Counts from 1 March of the year 0, so that the leap day comes last in a year and the months'
/// lengths repeat as 31, 30, 31, 30, 31: month m starts on day ⌊(153 m + 2) / 5⌋.
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
            "2026-01-01T00:00:0éZ",
        ] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
    }
}
