//! Definition and output of a table or figure of doubly-efficient PIR.
//!
//! Rows are parameter sets of one scheme or points of curves. [`crate::tables`] compares
//! configurations of several schemes instead.

use papir_measure::effort::Effort;
use papir_measure::report::write_rows;
use serde::Serialize;

use super::set::Set;
use crate::Result;

/// The kind of a sheet, selected by `--table` or `--figure`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SheetKind {
    /// A table of a paper.
    Table,
    /// A figure: rows are points, and `--svg` draws its curves.
    Figure,
}

/// A table or figure.
#[derive(Clone, Copy)]
pub struct Sheet {
    /// Table or figure.
    pub kind: SheetKind,
    /// The name on the command line.
    pub name: &'static str,
    /// Its number in the paper, and its content.
    pub what: &'static str,
    /// Computes the rows, given the smaller and the larger parameter set to measure.
    pub run: fn([Set; 2], Effort, &dyn papir_core::Progress) -> Result<SheetRows>,
}

/// Content of a sheet.
#[derive(Clone, Debug, Default)]
pub struct SheetRows {
    /// The columns' titles.
    pub columns: Vec<String>,
    /// The rows' cells.
    pub rows: Vec<Vec<String>>,
    /// Explanations for the reader.
    pub notes: Vec<String>,
    /// The curves of a figure.
    pub curves: Vec<Curve>,
    /// Labels of the axes x and y; both are logarithmic.
    pub axes: [&'static str; 2],
    /// True if every returned record was correct.
    pub correct: bool,
}

/// A curve: connected points.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// Coordinates x and y.
    pub points: Vec<(f64, f64)>,
}

/// A computed sheet.
#[derive(Clone, Debug, Serialize)]
pub struct SheetReport {
    /// Its name.
    pub name: &'static str,
    /// Its number in the paper, and its content.
    pub what: &'static str,
    /// Explanations for the reader.
    pub notes: Vec<String>,
    /// The columns' titles.
    pub columns: Vec<String>,
    /// The rows' cells.
    pub rows: Vec<Vec<String>>,
    /// True if every returned record was correct.
    pub correct: bool,
    /// The curves of a figure.
    #[serde(skip)]
    pub curves: Vec<Curve>,
    /// Labels of the axes.
    #[serde(skip)]
    pub axes: [&'static str; 2],
}

impl Sheet {
    /// Computes the sheet.
    ///
    /// # Errors
    /// Errors of the measurement.
    pub fn make(
        &self,
        sets: [Set; 2],
        effort: Effort,
        progress: &dyn papir_core::Progress,
    ) -> Result<SheetReport> {
        let SheetRows {
            columns,
            rows,
            notes,
            curves,
            axes,
            correct,
        } = (self.run)(sets, effort, progress)?;

        Ok(SheetReport {
            name: self.name,
            what: self.what,
            notes,
            columns,
            rows,
            correct,
            curves,
            axes,
        })
    }
}

impl SheetReport {
    /// Writes the sheet as a table.
    ///
    /// # Errors
    /// I/O errors from `out`.
    pub fn write_table(&self, out: &mut dyn std::io::Write) -> Result<()> {
        writeln!(out, "{}", self.what)?;
        // Titles are aligned with the cells, as one table.
        write_rows(out, self.columns.clone(), self.rows.iter().cloned())?;

        for note in &self.notes {
            writeln!(out, "{note}")?;
        }
        Ok(())
    }
}
