//! Format and checks of a file of printed figures.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::fault::DataFault;

/// The figures of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its short name.
    pub paper: String,
    /// Its authors, with the year if several papers have the name.
    pub authors: String,
    /// Its tables.
    pub tables: Vec<PaperTable>,
}

/// A table, or the figures of a section's text.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperTable {
    /// Its number in the paper, as in "Table 2".
    pub table: String,
    /// The title above the names of the rows, in a table that is quoted whole.
    pub title: Option<String>,
    /// The columns.
    pub columns: Vec<PaperColumn>,
    /// The rows of a table that is not divided by databases.
    #[serde(default)]
    pub rows: Vec<PaperRow>,
    /// Its entry in the list of tables; `None` for figures of an experiment.
    pub listed: Option<TableListing>,
    /// The databases, each with rows of its own.
    #[serde(default)]
    pub databases: Vec<PaperDatabase>,
}

/// The entry of a table in the list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableListing {
    /// The name on the command line.
    pub name: String,
    /// Its number in the paper, and what it compares.
    pub what: String,
    /// Explanations for the reader.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A column.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperColumn {
    /// Its name, as printed.
    pub column: String,
    /// The unit of its numbers; empty for counts.
    #[serde(default)]
    pub unit: String,
    /// The title, if two columns share one.
    pub title: Option<String>,
    /// The figure of papir that it is compared with.
    #[serde(rename = "as")]
    pub role: Option<Role>,
    /// The part of the server time that it has.
    pub part: Option<String>,
}

/// The meaning of a column that is compared with papir's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The time of preparing the database.
    Offline,
    /// Bytes that are stored for a client or, in a table of clients that store hints, by it.
    State,
    /// Bytes of a client's keys.
    Keys,
    /// Bytes of a query.
    Query,
    /// Bytes of an answer.
    Download,
    /// Bytes of keys, query and answer.
    Total,
    /// The time of an answer.
    Server,
}

/// A database of a table, and its rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperDatabase {
    /// Its description in the paper.
    pub database: String,
    /// The entry size, in the paper's words.
    pub entry: String,
    /// Number of entries.
    pub entries: u64,
    /// Bits per entry.
    pub entry_bits: u64,
    /// Its rows.
    pub rows: Vec<PaperRow>,
}

/// A row of figures. It is a column of the paper where the paper has the metrics as rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperRow {
    /// Its name, as printed.
    pub row: String,
    /// Its place among rows of one name.
    pub at: Option<String>,
    /// The scheme, if the row has another name.
    pub scheme: Option<String>,
    /// The figures, one for each column.
    pub cells: Vec<PrintedCell>,
    /// papir's configuration to compare with; `None` if it has no comparable scheme.
    pub papir: Option<PaperConfiguration>,
    /// Another configuration to compare with, which has a row of its own.
    pub also: Option<PaperConfiguration>,
    /// The figures that replace misprints, by column.
    #[serde(default)]
    pub corrected: BTreeMap<String, PrintedCell>,
}

/// A figure as printed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum PrintedCell {
    /// A number in the unit of its column.
    Number(f64),
    /// Words, or a number with another unit or a bound, as in "> 3.0 s".
    Text(String),
}

/// papir's configuration to compare a row with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperConfiguration {
    /// The scheme's name on the command line.
    pub scheme: String,
    /// N/t, if it is fixed.
    pub columns: Option<u64>,
    /// γ₀, if it is fixed.
    pub words: Option<u64>,
    /// The goal that chooses the parameters, if N/t is not fixed.
    pub goal: Option<String>,
    /// The bits of a registered client's key in one plaintext, if they are fixed.
    pub key_bits: Option<usize>,
    /// True if clients hold their tickets in advance.
    #[serde(default)]
    pub hold: bool,
}

impl Paper {
    /// Reads and checks the text of a file.
    ///
    /// # Errors
    /// [`DataFault`] for a text of another format, a figure without its cell, and a cell that is
    /// named twice.
    pub fn parse(file: &str, text: &str) -> Result<Self, DataFault> {
        let paper: Self = toml::from_str(text)
            .map_err(|error| DataFault::new(format!("{file}: {error}"), "printed figures"))?;

        paper.check().map_err(|fault| DataFault {
            found: format!("{file}: {}", fault.found),
            ..fault
        })?;
        Ok(paper)
    }

    fn check(&self) -> Result<(), DataFault> {
        check_name("the paper", &self.paper)?;

        let mut tables = BTreeSet::new();
        for table in &self.tables {
            check_name("a table", &table.table)?;
            if !tables.insert(&table.table) {
                return Err(twice(&table.table, "tables"));
            }
            table.check()?;
        }
        Ok(())
    }
}

impl PaperTable {
    fn check(&self) -> Result<(), DataFault> {
        let mut columns = BTreeSet::new();
        for PaperColumn { column, .. } in &self.columns {
            check_name(&format!("a column of {}", self.table), column)?;
            if !columns.insert(column.as_str()) {
                return Err(twice(&format!("{}, {column}", self.table), "columns"));
            }
        }

        // A table with databases has no rows of its own, and then nothing is checked here.
        self.check_rows(&self.table, &self.rows)?;
        let mut databases = BTreeSet::new();
        for database in &self.databases {
            let PaperDatabase {
                database: name,
                entry,
                rows,
                ..
            } = database;

            // Rows of two databases may have the same name, but databases may not.
            let place = format!("{}, {name}, {entry}", self.table);
            check_name(&format!("a database of {}", self.table), name)?;
            if !databases.insert((name, entry)) {
                return Err(twice(&place, "databases"));
            }
            self.check_rows(&place, rows)?;
        }
        Ok(())
    }

    /// Checks that the rows at this place have different names, and a figure for each column.
    fn check_rows(&self, place: &str, rows: &[PaperRow]) -> Result<(), DataFault> {
        let mut names = BTreeSet::new();
        for row in rows {
            check_name(&format!("a row of {place}"), &row.row)?;
            let name = format!("{place}, {}", row.name());
            if !names.insert((&row.row, &row.at)) {
                return Err(twice(&name, "rows"));
            }

            // Figures have their columns by place: one that is missing would shift all others.
            if row.cells.len() != self.columns.len() {
                return Err(DataFault::new(
                    format!("{} figures in {name}", row.cells.len()),
                    format!("{}, one for each column", self.columns.len()),
                ));
            }
            // A correction of a column that does not exist would be ignored.
            for column in row.corrected.keys() {
                self.index(column).ok_or_else(|| {
                    DataFault::new(format!("{name}, {column} corrected"), "a column")
                })?;
            }
        }
        Ok(())
    }

    /// The index of a column.
    pub(super) fn index(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|one| one.column == column)
    }

    /// A note on each misprint, with the figure that replaces it.
    pub fn corrections(&self) -> Vec<String> {
        let mut notes = self.corrections_at(&self.table, &self.rows);
        for database in &self.databases {
            let place = format!("{}, {}, {}", self.table, database.database, database.entry);
            notes.extend(self.corrections_at(&place, &database.rows));
        }
        notes
    }

    /// The notes on misprints in the rows at this place.
    fn corrections_at(&self, place: &str, rows: &[PaperRow]) -> Vec<String> {
        let mut notes = Vec::new();
        for row in rows {
            for (column, used) in &row.corrected {
                // The file was checked for a column of each correction.
                let Some(index) = self.index(column) else {
                    continue;
                };

                let unit = &self.columns[index].unit;
                let printed = row.cells[index].with_unit(unit);
                let used = used.with_unit(unit);
                let row = row.name();
                notes.push(format!(
                    "Misprint: {place}, {row}, {column}: printed {printed}, used {used}."
                ));
            }
        }
        notes
    }

    /// All rows, those of the databases included.
    pub fn all_rows(&self) -> impl Iterator<Item = &PaperRow> {
        let of_databases = self.databases.iter().flat_map(|database| &database.rows);
        self.rows.iter().chain(of_databases)
    }
}

impl PrintedCell {
    /// The figure with its unit, which words have already.
    fn with_unit(&self, unit: &str) -> String {
        match self {
            Self::Number(number) => format!("{number} {unit}").trim_end().to_owned(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl PaperRow {
    /// Its name, with its place among rows of that name.
    pub fn name(&self) -> String {
        match &self.at {
            Some(at) => format!("{}, {at}", self.row),
            None => self.row.clone(),
        }
    }
}

/// Refuses an empty name: a figure would have no cell that a reader of the paper finds.
fn check_name(what: &str, name: &str) -> Result<(), DataFault> {
    if name.is_empty() {
        return Err(DataFault::new(format!("{what} without a name"), "a name"));
    }
    Ok(())
}

fn twice(name: &str, what: &str) -> DataFault {
    DataFault::new(
        format!("{name} twice"),
        format!("{what} of different names"),
    )
}
