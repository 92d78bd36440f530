//! The sender's side of private set intersection: masked sets.

use std::collections::HashMap;
use std::collections::hash_map;

use crate::oprf::Key;
use papir_core::Progress;
use rayon::prelude::*;

use super::label::seal;
use super::mask::{Mask, NAME_BYTES};
use crate::entry::{Entry, check_value, duplicate_key};
use crate::error::Result;

/// Number of elements that are masked between two progress reports.
const STEP: usize = 1 << 12;

/// An element of the sender with its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The element: at most 2¹⁶ − 1 bytes.
    pub element: Vec<u8>,
    /// The label; empty in a set without labels.
    pub label: Vec<u8>,
    /// The row's line in its source, for errors.
    pub line: u64,
}

/// A masked set.
pub struct Masked {
    /// Entries of masked names and sealed labels, each element once, sorted by name.
    pub entries: Vec<Entry>,
    /// Length in bytes of the longest label; `None` for a set without labels.
    pub longest: Option<usize>,
    /// Number of rows that repeat an earlier row.
    pub duplicates: u64,
}

impl Masked {
    /// The masked names, for a filter.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &[u8; NAME_BYTES]> {
        const NONE: &[u8; NAME_BYTES] = &[0; NAME_BYTES];
        self.entries
            .iter()
            .map(|entry| entry.key.first_chunk().unwrap_or(NONE))
    }
}

/// Masks a set. `labels` is true for a set with labels. Takes about 60 µs per element and core.
///
/// # Errors
/// [`crate::Error::DuplicateKey`] for an element with two labels, [`crate::Error::ValueTooLong`]
/// for a label that is too long when sealed, or [`papir_core::Error::OutOfBounds`] for an element
/// of 2¹⁶ or more bytes.
pub fn mask(key: &Key, rows: Vec<Row>, labels: bool, progress: &dyn Progress) -> Result<Masked> {
    let total = rows.len();
    let rows = once_each(rows)?;
    let longest = rows.iter().map(|row| row.label.len()).max();
    // All labels are sealed at the length of the longest, so that no length shows.
    let longest = labels.then_some(longest.unwrap_or_default());

    progress.stage("mask elements", rows.len() as u64);
    let mut entries = Vec::with_capacity(rows.len());
    for rows in rows.chunks(STEP) {
        let masked: Vec<Entry> = rows
            .par_iter()
            .map(|row| masked_entry(key, row, longest))
            .collect::<Result<_>>()?;
        entries.extend(masked);
        progress.advance(rows.len() as u64);
    }

    // Sorted by name, as the order of the source could reveal something about it.
    entries.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    Ok(Masked {
        duplicates: (total - entries.len()) as u64,
        entries,
        longest,
    })
}

/// The entry with the masked name and the sealed label of a row.
fn masked_entry(key: &Key, row: &Row, longest: Option<usize>) -> Result<Entry> {
    let mask = Mask::from(&key.value(&row.element)?);
    let value = seal(&mask, &row.label, longest);
    // The table holds the sealed label, which is longer than the label itself.
    check_value(&value, row.line)?;

    Ok(Entry {
        key: mask.name.to_vec(),
        value,
        line: row.line,
    })
}

/// Keeps each element once, if its rows are equal. Refuses an element with different labels.
fn once_each(rows: Vec<Row>) -> Result<Vec<Row>> {
    let mut first: HashMap<&[u8], usize> = HashMap::with_capacity(rows.len());
    let mut keep = vec![false; rows.len()];

    for (i, row) in rows.iter().enumerate() {
        match first.entry(&row.element) {
            hash_map::Entry::Vacant(slot) => {
                slot.insert(i);
                keep[i] = true;
            }
            hash_map::Entry::Occupied(slot) => {
                let earlier = &rows[*slot.get()];
                if earlier.label != row.label {
                    return Err(duplicate_key(&row.element, earlier.line, row.line));
                }
            }
        }
    }
    // The map borrows the rows, which are moved next.
    drop(first);

    Ok(rows
        .into_iter()
        .zip(keep)
        .filter(|(_, keep)| *keep)
        .map(|(row, _)| row)
        .collect())
}
