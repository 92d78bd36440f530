//! Reads the rows that a program gives.

use std::path::Path;

use papir_core::Progress;

use super::cell;
use super::given::Given;
use super::named::index_of;
use super::request::Columns;
use super::row::{OnRow, Position};
use crate::error::Result;

/// Rows between two progress reports.
const STEP: u64 = 1024;

/// Reads the requested columns of all rows, numbered from 1. `path` names the table in errors.
/// Returns the number of bytes of their cells.
pub(super) fn rows(
    rows: &Given,
    path: &Path,
    columns: Columns<'_>,
    progress: &dyn Progress,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let Given(given) = rows;
    // Before the program is asked for a row, which may be slow.
    let wanted = wanted_columns(rows, path, columns)?;
    progress.stage("reading", given.count());

    let mut number = 0;
    let mut bytes = 0;
    given.each(&wanted, &mut |cells| {
        number += 1;
        bytes += cells.iter().map(|cell| cell.bytes() as u64).sum::<u64>();

        // The key's cell comes first, if a key is wanted.
        let mut cells = cells.into_iter();
        let key = columns.key.and_then(|_| cells.next());
        let values = columns
            .values
            .iter()
            .map(String::as_str)
            .zip(cells)
            .collect();

        if number % STEP == 0 {
            progress.advance(STEP);
        }
        on_row(Position::Row(number), cell::row(key, values))
    })?;
    Ok(bytes)
}

/// The names of the key and value columns, which the table must have. `path` names the table in
/// errors.
pub(crate) fn wanted_columns<'a>(
    rows: &Given,
    path: &Path,
    columns: Columns<'a>,
) -> Result<Vec<&'a str>> {
    let wanted: Vec<&str> = columns
        .key
        .into_iter()
        .chain(columns.values.iter().map(String::as_str))
        .collect();

    let Given(given) = rows;
    let available = given.columns();
    for name in &wanted {
        index_of(path, &available, name)?;
    }
    Ok(wanted)
}
