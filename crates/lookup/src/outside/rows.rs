//! Entries in runs by id.
//!
//! A run that is read is sorted and has no duplicates.

use std::ops::Range;

use papir_core::codec::Reader;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::{RUNS, ReadRuns, Runs, run_of};
use crate::build::equal_ids;
use crate::dimensions::Lengths;
use crate::entry::{Entry, Pair, check_value, duplicate_key};
use crate::error::{Error, Result};
use crate::hash::{SEED_BYTES, Seeds, random_seed};
use crate::ids::{ID_BYTES, KeyId};
use crate::options::OnDuplicate;

/// The seed of the ids of a table's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdSeed(pub [u8; SEED_BYTES]);

impl IdSeed {
    /// Draws a seed, as [`crate::build`] does.
    pub fn random(rng: &mut dyn CryptoRng) -> Self {
        Self(random_seed(rng))
    }

    fn seeds(self) -> Seeds {
        Seeds {
            ids: self.0,
            placement: [0; SEED_BYTES],
        }
    }
}

/// Entries that one process adds.
pub struct AddedEntries {
    seed: IdSeed,
    runs: Box<dyn Runs>,
    lengths: Option<Lengths>,
}

impl AddedEntries {
    /// No entries yet, for empty runs. Their ids will have this seed.
    pub fn new(seed: IdSeed, runs: Box<dyn Runs>) -> Self {
        Self {
            seed,
            runs,
            lengths: None,
        }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// [`Error::ValueTooLong`], and errors of the storage.
    pub fn add(&mut self, entry: &Entry) -> Result<()> {
        check_value(&entry.value, entry.line)?;
        let id = self.seed.seeds().id(&entry.key);
        self.lengths = Lengths::and(self.lengths, entry.value.len());

        let line = entry.line.to_le_bytes();
        let key = length_field(&entry.key);
        let value = length_field(&entry.value);
        let fields = [&id.0[..], &line, &key, &entry.key, &value, &entry.value];
        Ok(self.runs.append(run_of_id(&id), &fields)?)
    }

    /// The entries, to be read.
    pub fn finish(self) -> EntryPart {
        EntryPart {
            runs: self.runs,
            lengths: self.lengths,
        }
    }
}

/// The encoded length of a field.
fn length_field(field: &[u8]) -> [u8; 8] {
    (field.len() as u64).to_le_bytes()
}

/// Entries that one process has added.
pub struct EntryPart {
    /// The runs of the entries, by id.
    pub runs: Box<dyn ReadRuns>,
    /// The lengths of the values; `None` if there are none.
    pub lengths: Option<Lengths>,
}

/// All entries of a source.
pub struct EntryRuns {
    pub(super) seeds: Seeds,
    parts: Vec<EntryPart>,
}

impl EntryRuns {
    /// The entries of parts whose ids have this seed, one part after the other. Each counts its
    /// lines from 1.
    pub fn new(seed: IdSeed, parts: Vec<EntryPart>) -> Self {
        Self {
            seeds: seed.seeds(),
            parts,
        }
    }

    /// The lengths of all values; `None` if there are none.
    pub fn lengths(&self) -> Option<Lengths> {
        self.parts
            .iter()
            .filter_map(|part| part.lengths)
            .reduce(Lengths::joined)
    }

    /// Reads a run: one entry for each id, ascending by id. Refuses two keys of one id.
    pub(super) fn read(&mut self, run: usize, rule: OnDuplicate) -> Result<Sorted> {
        let mut bytes = Vec::new();
        let mut rows = Vec::new();
        let mut count = 0u64;
        for part in &mut self.parts {
            let start = bytes.len();
            part.runs.read(run, &mut bytes)?;
            // Rows have places in the bytes of all parts, so a part is read from where it starts.
            add_rows(&bytes, start, count, &mut rows)?;
            if let Some(lengths) = part.lengths {
                count = count.saturating_add(lengths.count);
            }
        }

        // The sort is stable: rows of one id stay in the order of the source.
        rows.par_sort_by_key(|row| row.id);

        let mut sorted = Sorted {
            bytes,
            rows: Vec::with_capacity(rows.len()),
            duplicates: 0,
            refused: None,
        };
        for row in rows {
            sorted.push(row, rule, count)?;
        }
        Ok(sorted)
    }

    /// Numbers of all runs.
    pub(super) fn all() -> Range<usize> {
        0..RUNS
    }
}

/// The run of an id, by its first bits.
fn run_of_id(id: &KeyId) -> usize {
    let mut first = [0; 8];
    first.copy_from_slice(&id.0[..8]);
    run_of(u64::from_be_bytes(first))
}

/// An entry of a run: its id, line, and the places of key and value.
#[derive(Clone)]
struct Row {
    id: KeyId,
    line: u64,
    key: Range<usize>,
    value: Range<usize>,
}

/// Adds the rows from the byte `end` on. `before` lines are before the first of them.
fn add_rows(bytes: &[u8], mut end: usize, before: u64, rows: &mut Vec<Row>) -> Result<()> {
    let mut reader = Reader::new("a run of entries", &bytes[end..]);
    while !reader.is_empty() {
        let id = KeyId(reader.array()?);
        let line = reader.u64()?.saturating_add(before);
        end += ID_BYTES + size_of::<u64>();

        let mut field = || {
            let start = end + size_of::<u64>();
            end = start + reader.bytes()?.len();
            Ok::<_, Error>(start..end)
        };
        let key = field()?;
        let value = field()?;
        rows.push(Row {
            id,
            line,
            key,
            value,
        });
    }
    Ok(())
}

/// The entries of a run, ascending by id.
pub(super) struct Sorted {
    bytes: Vec<u8>,
    rows: Vec<Row>,
    /// Entries that were dropped because another had the same key.
    pub(super) duplicates: u64,
    /// The first refused entry of the source.
    pub(super) refused: Option<Refused>,
}

/// An entry that the rule for duplicates refuses.
pub(super) struct Refused {
    pub(super) line: u64,
    pub(super) error: Error,
}

impl Sorted {
    /// Adds a row, or resolves it with the last row of the same key. `entries` is the number of all
    /// entries, for errors.
    fn push(&mut self, row: Row, rule: OnDuplicate, entries: u64) -> Result<()> {
        let Some(last) = self.rows.last_mut().filter(|last| last.id == row.id) else {
            self.rows.push(row);
            return Ok(());
        };
        // Two keys of one id would be one key of the table.
        if self.bytes[last.key.clone()] != self.bytes[row.key.clone()] {
            return Err(equal_ids(entries));
        }

        self.duplicates += 1;
        match rule {
            OnDuplicate::First => {}
            OnDuplicate::Last => *last = row,
            OnDuplicate::Refuse => {
                // Rows come by id: a later one may have an earlier line.
                let line = row.line;
                if self.refused.as_ref().is_none_or(|first| line < first.line) {
                    let error = duplicate_key(&self.bytes[row.key], last.line, line);
                    self.refused = Some(Refused { line, error });
                }
            }
        }
        Ok(())
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The value of the entry with index `number`.
    pub(super) fn value(&self, number: usize) -> &[u8] {
        &self.bytes[self.rows[number].value.clone()]
    }

    /// Bytes of all keys.
    pub(super) fn key_bytes(&self) -> u64 {
        self.rows.iter().map(|row| row.key.len() as u64).sum()
    }

    /// Ids and values.
    pub(super) fn pairs(&self) -> impl IndexedParallelIterator<Item = Pair<&[u8]>> {
        self.rows.par_iter().map(|row| Pair {
            id: row.id,
            value: &self.bytes[row.value.clone()],
        })
    }

    /// The lengths of all values.
    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> {
        self.rows.iter().map(|row| row.value.len())
    }
}
