//! Reads the result of a query of a PostgreSQL server.

use std::io::{self, Read};
use std::path::Path;

use papir_core::Progress;
use postgres::Transaction;

use super::csv::{self, FieldForm};
use super::form::DEFAULT_TEXT;
use super::format::Format;
use super::input::Input;
use super::request::Columns;
use super::row::{Fault, OnRow, Position, SourceRow};
use crate::error::{Error, Result};
use crate::file::name_of;
use crate::postgres::{Connector, Login, reason};

/// Reads the requested columns of all rows, numbered from 1 in the order of the result. Values have
/// PostgreSQL's text form, as in `COPY` to CSV. The server sends rows as they are read, in a
/// transaction that cannot write. `path` is the server's address, for errors. Returns the number of
/// bytes read.
pub(super) fn rows(
    path: &Path,
    login: &Login,
    query: &str,
    columns: Columns<'_>,
    progress: &dyn Progress,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    progress.stage("connecting", 0);
    let connector =
        Connector::new(login).map_err(|error| Error::unreadable(path, error.to_string()))?;
    let mut client = connector.connect().map_err(|error| failed(path, &error))?;
    let transaction = client.build_transaction().read_only(true).start();
    let mut transaction = transaction.map_err(|error| failed(path, &error))?;

    let query = query.trim_end().trim_end_matches(';');
    check(&mut transaction, path, query)?;
    progress.stage("reading", 0);
    let statement = copy_of(query);
    let copied = transaction.copy_out(statement.as_str());
    let copied = copied.map_err(|error| failed(path, &error))?;

    let input = Input::of(name_of(path), Box::new(CopiedRows(copied)), progress);
    let form = FieldForm::new(Format::Csv, &DEFAULT_TEXT);
    let has_key = columns.key.is_some();
    let mut number = 0;
    csv::rows(path, input, form, columns, &mut |_, row| {
        number += 1;
        let row = match has_key {
            true => row.and_then(with_key),
            false => row,
        };
        on_row(Position::Row(number), row)
    })
}

/// Refuses a query that is not a single statement with rows.
fn check(transaction: &mut Transaction<'_>, path: &Path, query: &str) -> Result<()> {
    // Alone, so that the server refuses one that would end the parenthesis of `copy_of`, and one of
    // several statements.
    let prepared = transaction.prepare(query);
    let prepared = prepared.map_err(|error| failed(path, &error))?;

    if prepared.columns().is_empty() {
        let reason = "the query gives no rows: expected a SELECT";
        return Err(Error::unreadable(path, reason));
    }
    if !prepared.params().is_empty() {
        let found = prepared.params().len();
        let reason = format!("a query with {found} parameters: expected none");
        return Err(Error::unreadable(path, reason));
    }
    Ok(())
}

/// The statement that sends the result of a query as CSV.
fn copy_of(query: &str) -> String {
    // On a line of its own: the query may end with a comment.
    format!("COPY (\n{query}\n) TO STDOUT (FORMAT csv, HEADER)")
}

/// Refuses a row without a key: NULL is an empty text in CSV, and all such keys would be one.
fn with_key(row: SourceRow) -> Result<SourceRow, Fault> {
    if row.key.is_empty() {
        let reason = "the key is NULL or empty: expected a value".to_owned();
        return Err(Fault::Reason(reason));
    }
    Ok(row)
}

/// The error for a server that cannot be reached or refuses the query.
fn failed(path: &Path, error: &postgres::Error) -> Error {
    Error::unreadable(path, reason(error))
}

/// The rows that a server sends, with errors in its words.
struct CopiedRows<R>(R);

impl<R: Read> Read for CopiedRows<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| {
            let inner = error.get_ref();
            match inner.and_then(|inner| inner.downcast_ref::<postgres::Error>()) {
                Some(inner) => io::Error::other(reason(inner)),
                None => error,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_does_not_hide_the_end_of_the_statement() {
        let copied = copy_of("SELECT 1 -- one");
        assert!(copied.ends_with("\n) TO STDOUT (FORMAT csv, HEADER)"));
    }
}
