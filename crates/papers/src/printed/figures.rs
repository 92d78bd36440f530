//! The figures of a row, by column and unit.

use super::fault::DataFault;
use super::paper::{PaperColumn, PaperRow, PaperTable, PrintedCell, Role};

/// The figures of a row.
#[derive(Clone, Copy, Debug)]
pub struct RowFigures<'a> {
    table: &'a PaperTable,
    row: &'a PaperRow,
}

impl<'a> RowFigures<'a> {
    /// The figures of a row of a table's database.
    pub fn new(table: &'a PaperTable, row: &'a PaperRow) -> Self {
        Self { table, row }
    }

    /// The figures of the row with this name, in a table without databases.
    ///
    /// # Errors
    /// [`DataFault`] if there is no such row.
    pub fn of(table: &'a PaperTable, row: &str) -> Result<Self, DataFault> {
        Self::find(table, row, None)
    }

    /// The figures of the row with this name and place, in a table without databases.
    ///
    /// # Errors
    /// [`DataFault`] if there is no such row.
    pub fn at(table: &'a PaperTable, row: &str, at: &str) -> Result<Self, DataFault> {
        Self::find(table, row, Some(at))
    }

    fn find(table: &'a PaperTable, row: &str, at: Option<&str>) -> Result<Self, DataFault> {
        // Names are unique in a table, which its file was checked for.
        let mut rows = table.rows.iter();
        let found = rows.find(|one| one.row == row && one.at.as_deref() == at);
        let row = found.ok_or_else(|| {
            let place = at.map_or(String::new(), |at| format!(", {at}"));
            DataFault::new(
                format!("{}, {row}{place}", table.table),
                "a row of the table",
            )
        })?;
        Ok(Self { table, row })
    }

    /// The figure of a column in this unit.
    ///
    /// # Errors
    /// [`DataFault`] without such a column, for words, and for a unit of another quantity.
    pub fn number(&self, column: &str, unit: &str) -> Result<f64, DataFault> {
        let index = self.index(column)?;
        let column = &self.table.columns[index];

        // A misprint stays in the file beside the figure that replaces it.
        let printed = &self.row.cells[index];
        let cell = self.row.corrected.get(&column.column).unwrap_or(printed);
        in_unit(cell, &column.unit, unit)
            .ok_or_else(|| self.fault(column, format!("a number in {unit:?}")))
    }

    /// The figure of a column that counts something.
    ///
    /// # Errors
    /// The errors of [`RowFigures::number`]; [`DataFault`] for a fraction.
    pub fn count(&self, column: &str) -> Result<u64, DataFault> {
        let number = self.number(column, "")?;
        if number < 0.0 || number.fract() != 0.0 {
            let index = self.index(column)?;
            return Err(self.fault(&self.table.columns[index], "a count"));
        }
        Ok(number as u64)
    }

    /// The words of a column.
    ///
    /// # Errors
    /// [`DataFault`] without such a column, and for a number.
    pub fn text(&self, column: &str) -> Result<&'a str, DataFault> {
        let index = self.index(column)?;
        match &self.row.cells[index] {
            PrintedCell::Text(text) => Ok(text),
            PrintedCell::Number(_) => Err(self.fault(&self.table.columns[index], "words")),
        }
    }

    /// The figure of the column with this meaning, in this unit; `None` without such a column, and
    /// for a cell that the paper leaves out.
    ///
    /// # Errors
    /// The errors of [`RowFigures::number`].
    pub fn role(&self, role: Role, unit: &str) -> Result<Option<f64>, DataFault> {
        let mut columns = self.table.columns.iter();
        let Some(index) = columns.position(|column| column.role == Some(role)) else {
            return Ok(None);
        };

        match &self.row.cells[index] {
            PrintedCell::Text(text) if text == "-" => Ok(None),
            _ => self
                .number(&self.table.columns[index].column, unit)
                .map(Some),
        }
    }

    /// The figures of all parts of the server time in milliseconds, in the order of the columns.
    ///
    /// # Errors
    /// The errors of [`RowFigures::number`].
    pub fn parts(&self) -> Result<Vec<f64>, DataFault> {
        let columns = self.table.columns.iter();
        columns
            .filter(|column| column.part.is_some())
            .map(|column| self.number(&column.column, "ms"))
            .collect()
    }

    fn index(&self, column: &str) -> Result<usize, DataFault> {
        let found = self.table.index(column);
        found.ok_or_else(|| {
            let place = format!("{}, {}, {column}", self.table.table, self.row.name());
            DataFault::new(place, "a column of the table")
        })
    }

    fn fault(&self, column: &PaperColumn, expected: impl ToString) -> DataFault {
        let name = self.row.name();
        let place = format!("{}, {name}, {}", self.table.table, column.column);
        DataFault::new(place, expected)
    }
}

/// The number of a cell whose column has the unit `from`, in the unit `to`.
fn in_unit(cell: &PrintedCell, from: &str, to: &str) -> Option<f64> {
    match cell {
        // A factor of one changes no bit of a number, so that figures print as in the file.
        PrintedCell::Number(number) => Some(number * factor(from, to)?),
        PrintedCell::Text(text) => {
            // A bound is compared like a figure; the table's notes say which figures are bounds.
            let text = text.trim_start_matches("> ");
            let (number, unit) = text.split_once(' ').unwrap_or((text, from));
            Some(number.parse::<f64>().ok()? * factor(unit, to)?)
        }
    }
}

/// The number of units `to` in a unit `from`; `None` for other quantities. KB are 1024 bytes.
fn factor(from: &str, to: &str) -> Option<f64> {
    if from == to {
        return Some(1.0);
    }

    // Only conversions without a rounding error, or with that of one product.
    match (from, to) {
        ("B", "KB") => Some(1.0 / 1024.0),
        ("MB", "KB") => Some(1024.0),
        ("GB", "KB") => Some(1024.0 * 1024.0),
        ("s", "ms") => Some(1e3),
        ("h", "s") => Some(3600.0),
        _ => None,
    }
}
