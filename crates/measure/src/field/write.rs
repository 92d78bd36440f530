//! Output of a report as a table and as CSV.

use std::io::Write;

use papir_plan::units::{bits, bytes};

use super::{FieldEntry, FieldReport, PrintedRow};
use crate::Result;
use crate::cost::{Cost, Status};
use crate::report::write_columns;

const COLUMNS: [&str; 12] = [
    "scheme",
    "figures",
    "keys",
    "query",
    "answer",
    "once",
    "total KiB",
    "server ms",
    "offline s",
    "security",
    "failure",
    "parameters",
];

/// Names of the columns of the CSV.
const FIELDS: [&str; 15] = [
    "scheme",
    "figures",
    "private",
    "parameters",
    "lookups",
    "keys_bytes",
    "query_bytes",
    "download_bytes",
    "hint_bytes",
    "total_kib",
    "server_ms",
    "offline_s",
    "security_bits",
    "failure_log2",
    "reason",
];

impl FieldReport {
    /// Returns the database in words.
    pub fn database(&self) -> String {
        format!("{} records of {}", self.records, bits(self.record_bits))
    }

    /// Writes the schemes as a table, then the rows of papers.
    ///
    /// # Errors
    /// The I/O errors of `out`.
    pub fn write_table(&self, out: &mut dyn Write) -> Result<()> {
        writeln!(
            out,
            "{}; {} thread(s), {}",
            self.database(),
            self.threads,
            self.backend
        )?;

        // Rows of papers come last: their times are those of other machines.
        let header = COLUMNS.map(str::to_owned).to_vec();
        let rows = self
            .schemes
            .iter()
            .map(FieldEntry::cells)
            .chain(self.papers.iter().flatten().map(PrintedRow::cells));
        write_columns(
            out,
            &std::iter::once(header).chain(rows).collect::<Vec<_>>(),
        )?;

        if self
            .schemes
            .iter()
            .any(|entry| matches!(entry.status, Status::Predicted(_)))
        {
            writeln!(out, "Predicted with rates {}.", self.rates)?;
        }

        for (entry, reason) in self
            .schemes
            .iter()
            .filter_map(|entry| Some((entry, entry.reason()?)))
        {
            writeln!(out, "{} refuses this database: {reason}", entry.scheme)?;
        }

        // `papir bench` knows no papers; papir-papers may have none for this database.
        match self.papers.as_deref() {
            None => {}
            Some([]) => writeln!(out, "No paper prints figures for this database.")?,
            Some(_) => writeln!(
                out,
                "Figures of papers are quoted, from their own machines: they were not run here."
            )?,
        }

        Ok(())
    }

    /// Writes a line for each scheme and each printed row.
    ///
    /// # Errors
    /// The I/O errors of `out`.
    pub fn write_csv(&self, out: &mut dyn Write) -> Result<()> {
        let mut csv = csv::Writer::from_writer(out);
        let mut write = |row: &[String]| csv.write_record(row).map_err(std::io::Error::from);

        write(&FIELDS.map(str::to_owned))?;
        self.schemes
            .iter()
            .try_for_each(|entry| write(&entry.fields()))?;
        self.papers
            .iter()
            .flatten()
            .try_for_each(|row| write(&row.fields()))?;

        Ok(csv.flush()?)
    }
}

fn number<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

impl FieldEntry {
    /// Returns the reason for missing costs, or `None` if there are costs.
    fn reason(&self) -> Option<&str> {
        match &self.status {
            Status::NoParameters { reason } => Some(reason),
            // A scheme without costs has a line, or its row would have dashes without a reason.
            status if status.cost().is_none() => Some(status.label()),
            _ => None,
        }
    }

    fn cells(&self) -> Vec<String> {
        let cost = self.status.cost();
        let bytes_of =
            |of: fn(&Cost) -> u64| cost.map_or_else(|| "-".to_owned(), |cost| bytes(of(cost)));

        let mark = if self.private { "" } else { ", NOT PRIVATE" };
        let many = if self.lookups > 1 {
            format!("; {} lookups", self.lookups)
        } else {
            String::new()
        };

        vec![
            self.scheme.to_owned(),
            format!("{}{mark}", self.status.label()),
            bytes_of(|cost| cost.keys_bytes),
            bytes_of(|cost| cost.query_bytes),
            bytes_of(|cost| cost.download_bytes),
            bytes_of(|cost| cost.hint_bytes),
            shown(cost.map(|cost| cost.total_kib), 1),
            shown(cost.and_then(|cost| cost.server_ms), 1),
            shown(cost.and_then(|cost| cost.offline_s), 1),
            shown(self.security_bits, 1),
            self.failure_log2
                .map_or_else(|| "-".to_owned(), |log2| format!("2^{log2:.0}")),
            format!("{}{many}", self.parameters),
        ]
    }

    fn fields(&self) -> Vec<String> {
        let cost = self.status.cost();
        vec![
            self.scheme.to_owned(),
            self.status.label().to_owned(),
            self.private.to_string(),
            self.parameters.clone(),
            self.lookups.to_string(),
            number(cost.map(|cost| cost.keys_bytes)),
            number(cost.map(|cost| cost.query_bytes)),
            number(cost.map(|cost| cost.download_bytes)),
            number(cost.map(|cost| cost.hint_bytes)),
            number(cost.map(|cost| cost.total_kib)),
            number(cost.and_then(|cost| cost.server_ms)),
            number(cost.and_then(|cost| cost.offline_s)),
            number(self.security_bits),
            number(self.failure_log2),
            self.reason().unwrap_or_default().to_owned(),
        ]
    }
}

impl PrintedRow {
    fn cells(&self) -> Vec<String> {
        // A printed row has a total and a server time only.
        let mut cells = vec!["-".to_owned(); COLUMNS.len()];
        cells[0] = self.scheme.to_owned();
        cells[1] = self.table.to_owned();
        cells[6] = format!("{:.1}", self.total_kib);
        cells[7] = format!("{:.1}", self.server_ms);
        cells
    }

    fn fields(&self) -> Vec<String> {
        // Readers of a CSV expect an empty field where a table has a dash.
        let mut fields = vec![String::new(); FIELDS.len()];
        fields[0] = self.scheme.to_owned();
        fields[1] = self.table.to_owned();
        fields[9] = self.total_kib.to_string();
        fields[10] = self.server_ms.to_string();
        fields
    }
}
