//! Tables and figures with rows of their own.
//!
//! Their rows are parameters of one scheme or points of curves, not configurations of schemes.

use serde::Serialize;

use super::set::Set;
use crate::Result;
use crate::measure::Effort;
use crate::report::write_columns;

/// Whether `--table` or `--figure` prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A table of a paper.
    Table,
    /// A figure: rows are points, and `--svg` draws its curves.
    Figure,
}

/// A table or figure.
#[derive(Clone, Copy)]
pub struct Sheet {
    /// What it is.
    pub kind: Kind,
    /// The name on the command line.
    pub name: &'static str,
    /// Where it stands, and what it shows.
    pub what: &'static str,
    /// Makes its rows; the smaller and the larger set are those that are measured.
    pub run: fn([Set; 2], Effort, &dyn papir_core::Progress) -> Result<Rows>,
}

/// What a sheet shows.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The columns' titles.
    pub columns: Vec<String>,
    /// The rows' cells.
    pub rows: Vec<Vec<String>>,
    /// What to know when reading them.
    pub notes: Vec<String>,
    /// The curves of a figure.
    pub curves: Vec<Curve>,
    /// What its axes are, x and y; both logarithmic.
    pub axes: [&'static str; 2],
    /// Whether every record that came back was right.
    pub correct: bool,
}

/// Points that are joined.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What they show.
    pub name: String,
    /// x and y.
    pub points: Vec<(f64, f64)>,
}

/// A sheet that was made.
#[derive(Clone, Debug, Serialize)]
pub struct SheetReport {
    /// Its name.
    pub name: &'static str,
    /// Where it stands, and what it shows.
    pub what: &'static str,
    /// What to know when reading it.
    pub notes: Vec<String>,
    /// The columns' titles.
    pub columns: Vec<String>,
    /// The rows' cells.
    pub rows: Vec<Vec<String>>,
    /// Whether every record that came back was right.
    pub correct: bool,
    /// The curves of a figure.
    #[serde(skip)]
    pub curves: Vec<Curve>,
    /// What its axes are.
    #[serde(skip)]
    pub axes: [&'static str; 2],
}

impl Sheet {
    /// Makes it.
    ///
    /// # Errors
    /// Those of the measurement.
    pub fn make(
        &self,
        sets: [Set; 2],
        effort: Effort,
        progress: &dyn papir_core::Progress,
    ) -> Result<SheetReport> {
        let Rows { columns, rows, notes, curves, axes, correct } = (self.run)(sets, effort, progress)?;
        Ok(SheetReport { name: self.name, what: self.what, notes, columns, rows, correct, curves, axes })
    }
}

impl SheetReport {
    /// Writes it as a table.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_table(&self, out: &mut dyn std::io::Write) -> Result<()> {
        writeln!(out, "{}", self.what)?;
        let lines: Vec<Vec<String>> =
            std::iter::once(self.columns.clone()).chain(self.rows.iter().cloned()).collect();
        write_columns(out, &lines)?;
        for note in &self.notes {
            writeln!(out, "{note}")?;
        }
        Ok(())
    }
}
