//! Keyword tables and their sizes.

use papir_core::RecordBuffer;

use crate::entry::Pair;
use crate::ids::KeyIds;
use crate::layout::KeywordLayout;

/// A keyword table: buckets of entries, which are the records for a scheme.
#[derive(Clone, Debug)]
pub struct KeywordTable {
    /// The public layout, with which clients find keys.
    pub layout: KeywordLayout,
    /// The buckets.
    pub records: RecordBuffer,
    /// The ids of the keys, with which the owner updates the table.
    pub ids: KeyIds,
    /// Sizes of the table.
    pub report: TableReport,
}

impl KeywordTable {
    /// The table of these pairs, which ascend by id.
    pub(crate) fn of(pairs: Vec<Pair>, layout: KeywordLayout, records: RecordBuffer) -> Self {
        let report = TableReport::of(&pairs, &layout);
        let ids = KeyIds::of_sorted(pairs.into_iter().map(|pair| pair.id).collect());
        Self {
            layout,
            records,
            ids,
            report,
        }
    }
}

/// Sizes of a table, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableReport {
    /// Number of keys.
    pub entries: u64,
    /// Number of entries that were dropped because another entry had the same key.
    pub duplicates: u64,
    /// Number of buckets.
    pub records: u64,
    /// Length of a bucket in bytes.
    pub record_bytes: u64,
    /// Number of records that every lookup fetches.
    pub lookups: u64,
    /// Length of the longest value in bytes.
    pub longest_value: u64,
    /// Bytes of all buckets.
    pub table_bytes: u64,
    /// Bytes of all values with one tag each. No table of these values has fewer bytes.
    pub tagged_bytes: u64,
    /// Bytes of all values.
    pub value_bytes: u64,
    /// Bytes of all keys in the source; `None` if only the keys' ids were available.
    pub key_bytes: Option<u64>,
    /// Bytes of the encoded layout.
    pub layout_bytes: u64,
    /// log₂ of the probability that a lookup finds a value for an absent key.
    pub false_positive_log2: f64,
}

impl TableReport {
    /// The report of a table without duplicates whose keys are unknown.
    pub(crate) fn of(pairs: &[Pair], layout: &KeywordLayout) -> Self {
        let values = pairs.iter().map(|pair| pair.value.len() as u64).sum();
        Self::new(pairs.len() as u64, values, layout)
    }

    /// The report of a table without duplicates whose keys are unknown, from the number of keys and
    /// the bytes of all values.
    pub fn new(entries: u64, value_bytes: u64, layout: &KeywordLayout) -> Self {
        Self {
            entries,
            duplicates: 0,
            records: layout.records(),
            record_bytes: layout.record_bytes() as u64,
            lookups: layout.lookups() as u64,
            longest_value: layout.longest_value() as u64,
            table_bytes: layout.records() * layout.record_bytes() as u64,
            value_bytes,
            tagged_bytes: value_bytes + layout.tag_bytes() * entries,
            key_bytes: None,
            layout_bytes: layout.encode().len() as u64,
            false_positive_log2: layout.false_positive_log2(),
        }
    }

    /// Returns the ratio of the bytes of the table to the bytes of tags and values.
    pub fn overhead(&self) -> f64 {
        self.table_bytes as f64 / self.tagged_bytes as f64
    }

    /// Returns the ratio of the bytes of the table to the bytes of keys and values, or `None` if
    /// the keys are unknown. It is infinite if keys and values are empty.
    pub fn overhead_over_source(&self) -> Option<f64> {
        self.key_bytes
            .map(|keys| self.table_bytes as f64 / (keys + self.value_bytes) as f64)
    }
}
