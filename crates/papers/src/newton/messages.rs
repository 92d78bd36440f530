//! Message lengths (NewtonPIR, Table 4, Figures 3 and 4).

use papir_core::Shape;
use papir_research::newton::Symmetric;
use papir_research::newton::params::NewtonParams;
use serde::Serialize;

use super::setting::params;
use crate::Result;
use crate::printed::{self, DataFault, PaperTable, RowFigures};
use papir_plan::units::bytes as display;

/// Bytes of an entry of Table 4 and Figure 3.
const ENTRY_BYTES: u64 = 256;
/// log₂ of the number of entries of Table 4 and Figure 4.
const LOG_ENTRIES: u32 = 20;

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

/// Table 4, as printed.
fn table_4() -> Result<&'static PaperTable, DataFault> {
    printed::table(printed::NEWTON, "Table 4")
}

/// KB of a query and of an answer, and the rate.
fn printed_messages(figures: RowFigures<'_>) -> Result<[f64; 3], DataFault> {
    Ok([
        figures.number("Query Size", "KB")?,
        figures.number("Response Size", "KB")?,
        figures.number("Rate", "")?,
    ])
}

/// All other schemes of Table 4, as printed.
pub(super) fn rivals() -> Result<Vec<Rival>, DataFault> {
    let table = table_4()?;

    let mut rivals = Vec::new();
    for row in table.rows.iter().filter(|row| row.row != printed::NEWTON) {
        let [query_kb, answer_kb, rate] = printed_messages(RowFigures::new(table, row))?;
        rivals.push(Rival {
            scheme: &row.row,
            query_kb,
            answer_kb,
            rate,
        });
    }
    Ok(rivals)
}

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
    /// True if papir has no database of as many records: the lengths follow from the length of an
    /// entry alone.
    pub lengths_only: bool,
    /// Bytes of a query.
    pub query_bytes: u64,
    /// Bytes of an answer.
    pub answer_bytes: u64,
    /// Length of an entry divided by the length of the answer.
    pub rate: f64,
    /// The paper's query, answer and rate in KB, if printed.
    pub paper: Option<[f64; 3]>,
}

/// Figure 3.
pub(super) fn by_records() -> Result<Vec<Messages>> {
    (16..=24)
        .step_by(2)
        .map(|log_records| messages(log_records, ENTRY_BYTES))
        .collect()
}

/// Figure 4. The paper does not print its entry sizes. These are around 256 bytes, from which the
/// answer grows.
pub(super) fn by_entry() -> Result<Vec<Messages>> {
    (5..=10)
        .map(|log_bytes| messages(LOG_ENTRIES, 1 << log_bytes))
        .collect()
}

fn messages(log_records: u32, entry_bytes: u64) -> Result<Messages> {
    let records = 1 << log_records;
    let entry_bits = 8 * entry_bytes;
    let sizes = NewtonParams::<Symmetric>::message_sizes(Shape::new(records, entry_bits)?);
    // Table 4 has one number of entries, and one length of them.
    let paper = if (log_records, entry_bytes) == (LOG_ENTRIES, ENTRY_BYTES) {
        let ours = RowFigures::of(table_4()?, printed::NEWTON)?;
        Some(printed_messages(ours)?)
    } else {
        None
    };

    Ok(Messages {
        log_records,
        entry_bytes,
        // Coefficients of as many records would not fit the memory that papir allows.
        lengths_only: params(records, entry_bits).is_err(),
        query_bytes: sizes.query,
        answer_bytes: sizes.answer,
        rate: entry_bytes as f64 / sizes.answer as f64,
        paper,
    })
}

impl Messages {
    pub(super) fn line(&self) -> Vec<String> {
        vec![
            self.log_records.to_string(),
            display(self.entry_bytes),
            display(self.query_bytes),
            display(self.answer_bytes),
            format!("{:.5}", self.rate),
            if self.lengths_only {
                "lengths only"
            } else {
                "parameters"
            }
            .to_owned(),
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::scheme::Parameters;

    use super::*;

    #[test]
    fn message_lengths_do_not_depend_on_the_database_size() {
        let rows = by_records().unwrap();
        let lengths = |row: &Messages| (row.query_bytes, row.answer_bytes);
        assert_eq!(
            lengths(&rows[0]),
            (12 * 256 + 32, 2 * 9 * 256 + 32),
            "256 bytes are two chunks"
        );
        assert!(rows.iter().all(|row| lengths(row) == lengths(&rows[0])));

        // No database has more than 2^20 records, or 2^22 chunks.
        let served: Vec<bool> = rows.iter().map(|row| !row.lengths_only).collect();
        assert_eq!(served, [true, true, true, false, false]);
        let rows = by_entry().unwrap();
        let served: Vec<bool> = rows.iter().map(|row| !row.lengths_only).collect();
        assert_eq!(served, [true, true, true, true, true, false]);

        // Those of a database that can be served are its parameters'.
        let sizes = params(1 << 16, 2048).unwrap().describe().sizes;
        assert_eq!(
            lengths(&by_records().unwrap()[0]),
            (sizes.query, sizes.answer)
        );

        let answers: Vec<u64> = rows.iter().map(|row| row.answer_bytes).collect();
        assert_eq!(answers[..3], [9 * 256 + 32; 3]);
        assert!(answers[3..].is_sorted_by(|a, b| a < b));
    }
}
