//! Output of a table as text, one line per row.

use std::io::Write;

use papir_measure::cost::{Cost, Status};
use papir_measure::report::{titles, write_rows};

use super::{TableReport, TableRow, print_scaling};
use crate::Result;

const HEADER: [&str; 24] = [
    "database",
    "entry",
    "scheme",
    "papir's",
    "total KiB, paper",
    "papir",
    "keys",
    "query",
    "download",
    "hint",
    "ahead",
    "total kB",
    "server ms, paper",
    "papir",
    "of it ahead",
    "reads",
    "offline s, paper",
    "papir",
    "query ms",
    "ticket s",
    "state KiB, paper",
    "ticket KiB",
    "client precomp. s",
    "papir's figures",
];

impl TableReport {
    /// Writes the table, followed by a summary of communication and notes.
    ///
    /// # Errors
    /// I/O errors from `out`.
    pub fn write_table(&self, out: &mut dyn Write) -> Result<()> {
        write_rows(out, titles(&HEADER), self.rows.iter().map(TableRow::cells))?;

        let compared = self
            .rows
            .iter()
            .filter(|row| row.papir.cost().is_some())
            .count();
        let Self { below, above, .. } = self;
        writeln!(
            out,
            "Total communication against the paper's: below in {below} of {compared} configurations, above in {above}."
        )?;
        self.write_without_keys(out)?;

        print_scaling::write(out, &self.rows)?;
        self.write_notes(out)
    }

    /// Compares queries and answers alone, in rows of schemes whose clients send keys as well. Keys
    /// that are uploaded once would hide them in a total.
    fn write_without_keys(&self, out: &mut dyn Write) -> Result<()> {
        let mut compared = 0;
        let mut below = 0;
        let mut above = 0;
        for row in &self.rows {
            let Some(cost) = row.papir.cost() else {
                continue;
            };
            let Some([keys, query, download]) = row.paper_kb else {
                continue;
            };
            if keys <= 0.0 {
                continue;
            }

            let ours = kib(cost.query_bytes + cost.download_bytes);
            let papers = query + download;
            compared += 1;
            below += usize::from(ours < papers);
            above += usize::from(ours > papers);
        }

        if compared > 0 {
            writeln!(
                out,
                "Queries and answers without keys: below in {below} of {compared} configurations, above in {above}."
            )?;
        }
        Ok(())
    }

    fn write_notes(&self, out: &mut dyn Write) -> Result<()> {
        for note in &self.notes {
            writeln!(out, "{note}")?;
        }

        if self
            .rows
            .iter()
            .any(|row| matches!(row.papir, Status::Predicted(_)))
        {
            writeln!(out, "Predicted with rates {}.", self.rates)?;
        }

        let mut refusals: Vec<String> = self.rows.iter().filter_map(TableRow::refusal).collect();
        // Neighbouring rows may have one configuration, whose reason is printed once.
        refusals.dedup();
        for refusal in refusals {
            writeln!(out, "{refusal}")?;
        }
        Ok(())
    }
}

/// Formats a figure of the paper as printed, or a dash for `None`. Sums and converted units are
/// rounded to two decimals.
fn printed(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| {
        ((100.0 * value).round() / 100.0).to_string()
    })
}

/// Formats a number, or a dash for `None`.
fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
}

/// Bytes in KB of 1024.
fn kib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

impl TableRow {
    /// Describes why papir has no parameters for the row; `None` if it has some.
    fn refusal(&self) -> Option<String> {
        let Status::NoParameters { reason } = &self.papir else {
            return None;
        };
        let configuration = self.configuration.as_ref()?;
        Some(format!(
            "No parameters at {}, {}, {configuration}: {reason}",
            self.database, self.entry
        ))
    }

    fn cells(&self) -> Vec<String> {
        let cost = self.papir.cost();
        // A row without costs has dashes, in as many columns.
        let of = |value: fn(&Cost) -> Option<f64>, decimals| number(cost.and_then(value), decimals);

        vec![
            self.database.to_owned(),
            self.entry.to_owned(),
            self.scheme.to_owned(),
            self.configuration.clone().unwrap_or("-".to_owned()),
            printed(Some(self.paper_total_kb)),
            of(|cost| Some(cost.total_kib), 1),
            of(|cost| Some(kib(cost.keys_bytes)), 1),
            of(|cost| Some(kib(cost.query_bytes)), 1),
            of(|cost| Some(kib(cost.download_bytes)), 1),
            of(|cost| Some(kib(cost.hint_bytes)), 1),
            of(|cost| Some(kib(cost.ahead_bytes)), 1),
            of(|cost| Some(cost.total_kb), 1),
            printed(Some(self.paper_server_ms)),
            of(|cost| cost.server_ms, 1),
            of(|cost| cost.ahead_ms, 1),
            of(|cost| cost.reads, 2),
            printed(self.paper_offline_s),
            of(|cost| cost.offline_s, 1),
            of(|cost| cost.query_ms, 1),
            of(|cost| cost.ticket_s, 1),
            printed(self.paper_state_kb),
            of(|cost| cost.ticket_bytes.map(kib), 1),
            of(|cost| cost.client_cold_s, 1),
            self.papir.label().to_owned(),
        ]
    }
}
