//! Message lengths (NewtonPIR, Table 4, Figures 3 and 4).

use papir_core::scheme::Parameters;
use serde::Serialize;

use super::setting::params;
use papir_plan::units::bytes as display;

/// Bytes of an entry of Table 4 and Figure 3.
const ENTRY_BYTES: u64 = 256;
/// log₂ of the number of entries of Table 4.
const LOG_ENTRIES: u32 = 20;
/// log₂ of the number of entries of Figure 4. The paper has more, but papir does not support as
/// many long entries. Message lengths do not depend on the number.
const LOG_LONG_ENTRIES: u32 = 18;

/// Another scheme in Table 4: 2²⁰ entries of 256 bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rival {
    /// The scheme.
    pub scheme: &'static str,
    /// KB of a query.
    pub query_kb: f64,
    /// KB of an answer.
    pub answer_kb: f64,
    /// Length of an entry divided by the length of the answer.
    pub rate: f64,
}

/// All other schemes of Table 4, as printed.
pub(super) const RIVALS: [Rival; 5] = [
    Rival {
        scheme: "SealPIR",
        query_kb: 67.7,
        answer_kb: 329.8,
        rate: 0.000_76,
    },
    Rival {
        scheme: "MulPIR",
        query_kb: 123.5,
        answer_kb: 120.8,
        rate: 0.002_07,
    },
    Rival {
        scheme: "FastPIR",
        query_kb: 33.5 * 1024.0,
        answer_kb: 66.6,
        rate: 0.003_75,
    },
    Rival {
        scheme: "OnionPIR",
        query_kb: 64.2,
        answer_kb: 126.1,
        rate: 0.001_98,
    },
    Rival {
        scheme: "Spiral",
        query_kb: 15.9,
        answer_kb: 23.4,
        rate: 0.010_68,
    },
];

impl Rival {
    pub(super) fn line(&self) -> Vec<String> {
        let Self {
            scheme,
            query_kb,
            answer_kb,
            rate,
        } = self;
        vec![
            (*scheme).to_owned(),
            format!("{query_kb} KB"),
            format!("{answer_kb} KB"),
            format!("{rate:.5}"),
        ]
    }
}

/// The message lengths of a configuration.
#[derive(Clone, Debug, Serialize)]
pub struct Messages {
    /// log₂ N.
    pub log_records: u32,
    /// Bytes per entry.
    pub entry_bytes: u64,
    /// Bytes of a query; null if papir does not support the number of records.
    pub query_bytes: Option<u64>,
    /// Bytes of an answer.
    pub answer_bytes: Option<u64>,
    /// Length of an entry divided by the length of the answer.
    pub rate: Option<f64>,
    /// The paper's query, answer and rate in KB, if printed.
    pub paper: Option<[f64; 3]>,
}

/// Figure 3.
pub(super) fn by_records() -> Vec<Messages> {
    (16..=24)
        .step_by(2)
        .map(|log_records| messages(log_records, ENTRY_BYTES))
        .collect()
}

/// Figure 4. The paper does not print its entry sizes. These are around 256 bytes, from which the
/// answer grows.
pub(super) fn by_entry() -> Vec<Messages> {
    (5..=10)
        .map(|log_bytes| messages(LOG_LONG_ENTRIES, 1 << log_bytes))
        .collect()
}

fn messages(log_records: u32, entry_bytes: u64) -> Messages {
    let sizes = params(1 << log_records, 8 * entry_bytes)
        .ok()
        .map(|params| params.describe().sizes);
    let printed = (log_records, entry_bytes) == (LOG_ENTRIES, ENTRY_BYTES);

    Messages {
        log_records,
        entry_bytes,
        query_bytes: sizes.map(|sizes| sizes.query),
        answer_bytes: sizes.map(|sizes| sizes.answer),
        rate: sizes.map(|sizes| entry_bytes as f64 / sizes.answer as f64),
        paper: printed.then_some([3.1, 2.2, 0.11364]),
    }
}

impl Messages {
    pub(super) fn line(&self) -> Vec<String> {
        vec![
            self.log_records.to_string(),
            display(self.entry_bytes),
            size_cell(self.query_bytes),
            size_cell(self.answer_bytes),
            self.rate
                .map_or_else(|| "-".to_owned(), |rate| format!("{rate:.5}")),
            self.paper_cell(0, " KB"),
            self.paper_cell(1, " KB"),
            self.paper_cell(2, ""),
        ]
    }

    fn paper_cell(&self, i: usize, unit: &str) -> String {
        self.paper
            .map_or_else(|| "-".to_owned(), |paper| format!("{}{unit}", paper[i]))
    }
}

fn size_cell(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "-".to_owned(), display)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn message_lengths_do_not_depend_on_the_database_size() {
        let rows = by_records();
        let first = (rows[0].query_bytes, rows[0].answer_bytes);
        assert_eq!(
            first,
            (Some(12 * 256 + 32), Some(2 * 9 * 256 + 32)),
            "256 bytes are two chunks"
        );

        assert!(
            rows[..3]
                .iter()
                .all(|row| (row.query_bytes, row.answer_bytes) == first)
        );
        assert!(rows[3].query_bytes.is_none(), "more than 2^20 records");

        let answers: Vec<u64> = by_entry()
            .iter()
            .map(|row| row.answer_bytes.unwrap())
            .collect();
        assert_eq!(answers[..3], [9 * 256 + 32; 3]);
        assert!(answers[3..].is_sorted_by(|a, b| a < b));
    }
}
