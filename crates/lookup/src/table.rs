//! A finished table, and what it costs.

use papir_core::RecordBuffer;

use crate::arrange::Pair;
use crate::ids::KeyIds;
use crate::layout::KeywordLayout;

/// A table of keys as records of any scheme.
#[derive(Clone, Debug)]
pub struct KeywordTable {
    /// What clients need to find a key.
    pub layout: KeywordLayout,
    /// The buckets.
    pub records: RecordBuffer,
    /// What the owner needs to change the table later.
    pub ids: KeyIds,
    /// What it cost.
    pub report: TableReport,
}

/// What a table costs. All sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableReport {
    /// Keys in the table.
    pub entries: u64,
    /// Entries that gave way to another of the same key.
    pub duplicates: u64,
    /// Buckets.
    pub records: u64,
    /// Bytes of one bucket.
    pub record_bytes: u64,
    /// Records that every lookup fetches.
    pub lookups: u64,
    /// Bytes that no value is longer than.
    pub longest_value: u64,
    /// Bytes of all buckets.
    pub table_bytes: u64,
    /// Bytes of all values with one 64-bit tag each: the least that such a table needs.
    pub tagged_bytes: u64,
    /// Bytes of all keys as they came; `None` where only their ids were at hand.
    pub key_bytes: Option<u64>,
    /// Bytes of the encoded layout.
    pub layout_bytes: u64,
    /// log₂ of the probability that a key without an entry is found.
    pub wrong_positive_log2: f64,
}

impl TableReport {
    /// The report of pairs in a layout, without duplicates and without knowing the keys.
    pub(crate) fn of(pairs: &[Pair], layout: &KeywordLayout) -> Self {
        let values = pairs.iter().map(|pair| pair.value.len() as u64).sum();
        Self::new(pairs.len() as u64, values, layout)
    }

    /// As [`TableReport::of`], for so many keys with so many bytes of values.
    pub(crate) fn new(entries: u64, value_bytes: u64, layout: &KeywordLayout) -> Self {
        Self {
            entries,
            duplicates: 0,
            records: layout.records(),
            record_bytes: layout.record_bytes() as u64,
            lookups: layout.lookups() as u64,
            longest_value: layout.longest_value() as u64,
            table_bytes: layout.records() * layout.record_bytes() as u64,
            tagged_bytes: value_bytes + 8 * entries,
            key_bytes: None,
            layout_bytes: layout.encode().len() as u64,
            wrong_positive_log2: layout.wrong_positive_log2(),
        }
    }

    /// Table over tags and values.
    pub fn overhead(&self) -> f64 {
        self.table_bytes as f64 / self.tagged_bytes as f64
    }

    /// Table over keys and values, where the keys are known; infinite when both are empty.
    pub fn overhead_over_source(&self) -> Option<f64> {
        let values = self.tagged_bytes - 8 * self.entries;
        self.key_bytes.map(|keys| self.table_bytes as f64 / (keys + values) as f64)
    }
}
