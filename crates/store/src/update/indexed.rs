//! Updates of records without keys.

use std::collections::BTreeMap;

use papir_core::cost::Rates;
use papir_core::{Change, PreparedRecords, Run, Shape};
use papir_lookup::update::ChangeCounts;

use super::options::UpdateOptions;
use super::overlay::Overlay;
use super::prepare::{Next, apply_changes, set_up};
use super::report::Way;
use crate::error::{Error, Result};
use crate::snapshot::Snapshot;
use crate::source::ChangeRow;

/// Applies the changes. Returns the next version; `None` if there are no changes.
pub(super) fn update(
    options: &UpdateOptions,
    snapshot: &Snapshot,
    run: &mut Run<'_>,
) -> Result<(ChangeCounts, Option<Next>)> {
    let below = PreparedRecords::new(snapshot.server.as_ref());
    let below = snapshot.records(&below)?;
    let shape = below.shape();
    let format = options.changes_format()?;
    let columns = options.columns(format, &snapshot.metadata, shape.record_bytes() as u64)?;
    let rows = options.read_rows(format, &columns, run.progress)?;

    let (changes, counts) = resolve(&shape, rows, |BadLine { line, reason }| {
        Err(options.bad_row(line, reason))
    })?;
    if !options.rebuild {
        let inserted = counts.inserted;
        let next = apply(&options.rates, snapshot, &changes, inserted, run)?;
        return Ok((counts, next));
    }

    // Asked for: even without a change, all records are prepared again, under fresh masks.
    let before = shape.records();
    let records = before + counts.inserted;
    let way = Way::Rebuilt {
        reason: None,
        before,
        records,
        room: 0,
    };
    let next = set_up_all(snapshot, &changes, records, way, run)?;
    Ok((counts, Some(next)))
}

/// Applies changes, of which the last `inserted` are new records. Returns the next version; `None`
/// without changes.
pub(super) fn apply(
    rates: &Rates,
    snapshot: &Snapshot,
    changes: &[Change],
    inserted: u64,
    run: &mut Run<'_>,
) -> Result<Option<Next>> {
    if changes.is_empty() {
        return Ok(None);
    }
    if inserted == 0 {
        let (server, commitment, way) = apply_changes(snapshot, changes, rates, run)?;
        return Ok(Some(Next {
            server,
            commitment,
            keyword: None,
            way,
        }));
    }

    // The parameters are for a number of records: more of them need other ones, and so a setup of
    // all.
    let before = snapshot.server.describe().shape.records();
    let records = before + inserted;
    let way = Way::Extended { before, records };
    set_up_all(snapshot, changes, records, way, run).map(Some)
}

/// Prepares all `records` records, with the changes.
fn set_up_all(
    snapshot: &Snapshot,
    changes: &[Change],
    records: u64,
    way: Way,
    run: &mut Run<'_>,
) -> Result<Next> {
    let below = PreparedRecords::new(snapshot.server.as_ref());
    let below = snapshot.records(&below)?;
    // Laid over the records that the database has: the source may be gone, and a copy of all
    // records would take their memory twice.
    let all = Overlay::new(below.as_ref(), records, changes)?;
    let (server, commitment) = set_up(snapshot, &all, run)?;

    Ok(Next {
        server,
        commitment,
        keyword: None,
        way,
    })
}

/// Counts changes of different records.
pub(super) fn counts(shape: &Shape, changes: &[Change]) -> ChangeCounts {
    // Changes come from a delta, one for each record, so none supersedes another.
    let replaced = changes
        .iter()
        .filter(|change| change.index < shape.records())
        .count() as u64;

    ChangeCounts {
        inserted: changes.len() as u64 - replaced,
        replaced,
        ..ChangeCounts::default()
    }
}

/// A refused line.
pub(super) struct BadLine {
    pub(super) line: u64,
    pub(super) reason: String,
}

impl BadLine {
    /// The error that names the file.
    pub(super) fn named(self, file: String) -> Error {
        Error::Line {
            file,
            line: self.line,
            reason: self.reason,
        }
    }
}

/// The rows of one record.
#[derive(Default)]
struct RecordRows {
    lines: Vec<u64>,
    /// The record of the last row.
    last: Vec<u8>,
}

/// Reduces the rows to one change per record, in ascending order. The last row of a record wins.
/// New records must follow the existing ones without a gap. Passes rows that do not fit to
/// `refused`, and leaves them out unless it fails.
pub(super) fn resolve<E>(
    shape: &Shape,
    rows: Vec<ChangeRow>,
    mut refused: impl FnMut(BadLine) -> std::result::Result<(), E>,
) -> std::result::Result<(Vec<Change>, ChangeCounts), E> {
    // Grouped before they are judged: a new record may be far down in the file, and a later row may
    // fill the gap before it.
    let by_index = group(shape, rows, &mut refused)?;
    let mut counts = ChangeCounts::default();
    let mut changes = Vec::with_capacity(by_index.len());

    for (index, RecordRows { lines, last }) in by_index {
        let expected = shape.records() + counts.inserted;
        if index > expected {
            // The last row first: it has the value that would have been taken, so its error names
            // it.
            for line in lines.into_iter().rev() {
                let reason = gap(index, expected);
                refused(BadLine { line, reason })?;
            }
            continue;
        }

        if index < expected {
            counts.replaced += 1;
        } else {
            counts.inserted += 1;
        }
        counts.superseded += lines.len() as u64 - 1;
        changes.push(Change {
            index,
            record: last,
        });
    }
    Ok((changes, counts))
}

/// Groups the rows by record. Passes rows that name no record or delete one to `refused`.
fn group<E>(
    shape: &Shape,
    rows: Vec<ChangeRow>,
    refused: &mut impl FnMut(BadLine) -> std::result::Result<(), E>,
) -> std::result::Result<BTreeMap<u64, RecordRows>, E> {
    let mut by_index: BTreeMap<u64, RecordRows> = BTreeMap::new();

    for ChangeRow { key, value, line } in rows {
        match change_of(shape, &key, value) {
            Ok(Change { index, mut record }) => {
                // No longer than a record: the rows were read with that limit.
                record.resize(shape.record_bytes(), 0);
                let rows = by_index.entry(index).or_default();
                rows.lines.push(line);
                rows.last = record;
            }
            Err(reason) => refused(BadLine { line, reason })?,
        }
    }
    Ok(by_index)
}

/// The change of a row, or the reason why it is refused.
fn change_of(
    shape: &Shape,
    key: &[u8],
    value: Option<Vec<u8>>,
) -> std::result::Result<Change, String> {
    let index = index_of(shape, key)?;
    let record = value.ok_or_else(|| undeletable(index))?;
    Ok(Change { index, record })
}

/// The record's number in a row, or the reason why it is refused.
fn index_of(shape: &Shape, key: &[u8]) -> std::result::Result<u64, String> {
    // Digits only: the parser of numbers would also take a plus sign.
    let digits = std::str::from_utf8(key)
        .ok()
        .filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    if let Some(index) = digits.and_then(|text| text.parse().ok()) {
        return Ok(index);
    }

    // Shortened and escaped: a key may be long, and any bytes.
    let found = String::from_utf8_lossy(&key[..key.len().min(32)])
        .escape_debug()
        .to_string();
    let records = shape.records();
    Err(format!(
        "the key is `{found}`: expected the number of a record, 0 to {}, or {records} for a new one",
        records - 1
    ))
}

/// The reason to refuse a deletion.
fn undeletable(index: u64) -> String {
    format!(
        "record {index} is deleted: expected a value, as records without keys cannot be deleted"
    )
}

/// The reason to refuse a new record after a gap.
fn gap(found: u64, expected: u64) -> String {
    format!(
        "record {found} is new: expected {expected}, as new records follow the last one without a gap"
    )
}
