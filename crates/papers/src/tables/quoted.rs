//! Quoted tables of properties: Table 1 of four papers.

use std::io::Write;
use std::sync::LazyLock;

use papir_measure::report::{titles, write_rows};
use serde::Serialize;

use super::compared::strings;
use crate::Result;
use crate::printed::{DataFault, Once, PaperTable, RowFigures, TableListing, once, papers};

/// A table that is quoted whole.
#[derive(Clone, Copy, Debug)]
pub struct Quoted {
    /// The name on the command line.
    pub name: &'static str,
    /// Its number in the paper, and what it compares.
    pub what: &'static str,
    /// The columns' titles.
    pub columns: &'static [&'static str],
    /// The rows' cells.
    pub rows: &'static [&'static [&'static str]],
    /// Explanations for the reader.
    pub notes: &'static [&'static str],
}

/// The content of a quoted table.
#[derive(Clone, Debug, Serialize)]
pub struct QuotedReport {
    /// Its name.
    pub name: &'static str,
    /// Its number in the paper, and what it compares.
    pub what: &'static str,
    /// Explanations for the reader.
    pub notes: Vec<String>,
    /// The columns' titles.
    pub columns: Vec<String>,
    /// The rows' cells.
    pub rows: Vec<Vec<String>>,
}

/// The note of every quoted table.
const NOT_RUN: &str = "All figures are quoted from the paper: none of these schemes was run here.";

static QUOTED: Once<Quoted> = LazyLock::new(read);

/// All quoted tables.
///
/// # Errors
/// [`crate::Error::Usage`] for a fault of the files of printed figures.
pub fn quoted() -> Result<&'static [Quoted]> {
    Ok(once(&QUOTED)?)
}

/// Reads the tables that have a title above the names of their rows.
fn read() -> Result<Vec<Quoted>, DataFault> {
    let mut all = Vec::new();
    for table in papers()?.iter().flat_map(|paper| &paper.tables) {
        if let (Some(listed), Some(title)) = (&table.listed, &table.title) {
            all.push(whole(table, listed, title)?);
        }
    }
    Ok(all)
}

fn whole(
    table: &'static PaperTable,
    listed: &'static TableListing,
    title: &'static str,
) -> Result<Quoted, DataFault> {
    // The names of rows are a column too, which the file keeps apart from the figures.
    let mut columns = vec![title];
    for column in &table.columns {
        columns.push(column.title.as_ref().unwrap_or(&column.column));
    }

    let mut rows: Vec<&[&str]> = Vec::new();
    for row in &table.rows {
        let figures = RowFigures::new(table, row);
        // A second row of a scheme has its place beside the name.
        let name: &'static str = match &row.at {
            Some(_) => row.name().leak(),
            None => &row.row,
        };
        let mut cells = vec![name];
        for column in &table.columns {
            cells.push(figures.text(&column.column)?);
        }
        rows.push(cells.leak());
    }

    Ok(Quoted {
        name: &listed.name,
        what: &listed.what,
        columns: columns.leak(),
        rows: rows.leak(),
        notes: strings(&listed.notes),
    })
}

impl Quoted {
    /// The table's content.
    pub fn report(&self) -> QuotedReport {
        let notes = self
            .notes
            .iter()
            .chain([&NOT_RUN])
            .map(|note| (*note).to_owned());
        let rows = self.rows.iter().map(|row| titles(row));

        let Self { name, what, .. } = *self;

        QuotedReport {
            name,
            what,
            notes: notes.collect(),
            columns: titles(self.columns),
            rows: rows.collect(),
        }
    }
}

impl QuotedReport {
    /// Writes the table, followed by its notes.
    ///
    /// # Errors
    /// I/O errors from `out`.
    pub fn write_table(&self, out: &mut dyn Write) -> Result<()> {
        writeln!(out, "{}", self.what)?;
        write_rows(out, self.columns.clone(), self.rows.iter().cloned())?;

        for note in &self.notes {
            writeln!(out, "{note}")?;
        }
        Ok(())
    }
}
