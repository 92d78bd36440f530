//! Reads SQLite databases: a table, or the result of a query.

use std::path::Path;

use papir_core::Progress;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Statement};

use super::cell::{self, Cell};
use super::named::index_of;
use super::request::{Columns, Selection};
use super::row::{OnRow, Position, too_long};
use crate::error::{Error, Result};
use crate::file::open_regular;

/// Maximum length of a value or of a row in bytes that SQLite holds in memory. Values of longer
/// than this are not read at all, also those that a query makes.
const MAX_ROW_BYTES: i32 = 256 << 20;

/// Lists the tables and views that users created.
const TABLES: &str = "SELECT name FROM sqlite_schema \
     WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";

/// Reads all rows, numbered from 1 in the order that SQLite returns them. The file is opened
/// read-only. Returns the file's length in bytes.
pub(super) fn rows(
    path: &Path,
    columns: Columns<'_>,
    selection: Selection<'_>,
    longest: u64,
    progress: &dyn Progress,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let bytes = length(path)?;
    progress.stage("reading", 0);
    let connection = open(path).map_err(|error| unreadable(path, &error))?;

    let mut statement = connection
        .prepare(&sql(path, &connection, columns, selection)?)
        .map_err(|error| unreadable(path, &error))?;
    // The file is opened for reading, so this is about the message: a query that writes would fail
    // with another one.
    if !statement.readonly() || statement.column_count() == 0 {
        return Err(Error::unreadable(
            path,
            "the query gives no rows: expected a SELECT",
        ));
    }

    let indices = ColumnIndices::find(path, &statement, columns)?;
    let mut rows = statement
        .query([])
        .map_err(|error| unreadable(path, &error))?;
    for number in 1.. {
        let next = rows.next();
        let Some(row) = next.map_err(|error| bad_row(path, number, &error))? else {
            break;
        };

        // Checked before the row is copied.
        let length = indices.longest_value(row);
        let length = length.map_err(|error| bad_row(path, number, &error))?;
        let row = if length <= longest {
            let cells = indices.cells(row);
            let cells = cells.map_err(|error| bad_row(path, number, &error))?;
            cell::row(cells.key, cells.values)
        } else {
            Err(too_long(length, longest))
        };

        on_row(Position::Row(number), row)?;
        progress.advance(1);
    }
    Ok(bytes)
}

/// The error for a database that SQLite cannot read.
fn unreadable(path: &Path, error: &rusqlite::Error) -> Error {
    Error::unreadable(path, error.to_string())
}

/// The error for a row that SQLite cannot read.
fn bad_row(path: &Path, number: u64, error: &rusqlite::Error) -> Error {
    let reason = match error.sqlite_error_code() {
        Some(ErrorCode::TooBig) => {
            format!("a value of more than {MAX_ROW_BYTES} bytes: expected a shorter one")
        }
        _ => error.to_string(),
    };
    Error::Row {
        file: path.display().to_string(),
        row: number,
        reason,
    }
}

/// The query for the requested part of the database.
fn sql(
    path: &Path,
    connection: &Connection,
    columns: Columns<'_>,
    selection: Selection<'_>,
) -> Result<String> {
    match selection {
        Selection::Query(query) => Ok(query.to_owned()),
        Selection::Table(name) => table_query(path, connection, name, columns),
        Selection::Whole => table_query(path, connection, &only_table(path, connection)?, columns),
        Selection::OfServer(..) => Err(Error::options(
            "an SQLite database of a server",
            "a table or a query of the file",
        )),
    }
}

/// The file's length. Opened before SQLite opens it, a missing file gives a clearer error.
fn length(path: &Path) -> Result<u64> {
    let file = open_regular(path).map_err(Error::io("opening", path))?;
    let metadata = file.metadata().map_err(Error::io("opening", path))?;
    Ok(metadata.len())
}

/// Opens a file of unknown origin. Its schema cannot run functions with side effects, and SQLite
/// checks its pages.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // Views and triggers of a foreign file may call functions of the program.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_ROW_BYTES)?;
    Ok(connection)
}

/// The names of the tables and views, in order.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(TABLES)?;
    let names = statement.query_map([], |row| row.get(0))?;
    names.collect::<rusqlite::Result<Vec<String>>>()
}

/// The name of the only table.
fn only_table(path: &Path, connection: &Connection) -> Result<String> {
    let tables = tables(connection).map_err(|error| unreadable(path, &error))?;
    match tables.as_slice() {
        [table] => Ok(table.clone()),
        [] => Err(Error::unreadable(path, "no tables: expected one")),
        several => {
            let reason = format!(
                "{} tables: expected the name of one of {}",
                several.len(),
                several.join(", ")
            );
            Err(Error::unreadable(path, reason))
        }
    }
}

/// The query for the columns of a table. Rows come in the order of the table, not of an index. The
/// names are checked first: SQLite would treat an unknown quoted name as a string.
fn table_query(
    path: &Path,
    connection: &Connection,
    table: &str,
    columns: Columns<'_>,
) -> Result<String> {
    let tables = tables(connection).map_err(|error| unreadable(path, &error))?;
    if !tables.iter().any(|name| name == table) {
        let reason = format!("no table `{table}`: expected one of {}", tables.join(", "));
        return Err(Error::unreadable(path, reason));
    }

    let from = format!("FROM {} NOT INDEXED", quoted(table));
    let all = connection
        .prepare(&format!("SELECT * {from}"))
        .map_err(|error| unreadable(path, &error))?;
    ColumnIndices::find(path, &all, columns)?;

    // Each name once: a column may be both the key and a value.
    let mut names: Vec<String> = Vec::new();
    let values = columns.values.iter().map(String::as_str);
    for name in columns.key.into_iter().chain(values).map(quoted) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(format!("SELECT {} {from}", names.join(", ")))
}

/// Quotes a name for SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Indices of the requested columns in a row.
struct ColumnIndices<'a> {
    key: Option<usize>,
    values: Vec<(&'a str, usize)>,
}

/// The requested cells of a row.
struct Cells<'a> {
    key: Option<Cell>,
    values: Vec<(&'a str, Cell)>,
}

impl<'a> ColumnIndices<'a> {
    fn find(path: &Path, statement: &Statement<'_>, columns: Columns<'a>) -> Result<Self> {
        let names: Vec<&str> = statement.column_names().collect();
        let key = match columns.key {
            Some(name) => Some(index_of(path, &names, name)?),
            None => None,
        };

        let mut values = Vec::new();
        for name in columns.values {
            values.push((name.as_str(), index_of(path, &names, name)?));
        }
        Ok(Self { key, values })
    }

    /// Length of the longest value of a row in bytes.
    fn longest_value(&self, row: &rusqlite::Row<'_>) -> rusqlite::Result<u64> {
        let mut longest = 0;
        for &(_, index) in &self.values {
            if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = row.get_ref(index)? {
                longest = longest.max(bytes.len());
            }
        }
        Ok(longest as u64)
    }

    fn cells(&self, row: &rusqlite::Row<'_>) -> rusqlite::Result<Cells<'a>> {
        let key = match self.key {
            Some(index) => Some(cell(row.get_ref(index)?)),
            None => None,
        };

        let mut values = Vec::with_capacity(self.values.len());
        for &(name, index) in &self.values {
            values.push((name, cell(row.get_ref(index)?)));
        }
        Ok(Cells { key, values })
    }
}

/// Converts a cell. Its type may differ from the declared type of its column.
fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Json(number.to_string()),
        ValueRef::Real(number) => Cell::float(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
    }
}
