//! Entries in runs by id, sorted and without duplicates when they are read.

use std::ops::Range;

use papir_core::codec::Reader;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::{RUNS, Runs, Storage, run_of};
use crate::build::equal_ids;
use crate::dimensions::Lengths;
use crate::entry::{Entry, Pair, check_value, duplicate_key};
use crate::error::{Error, Result};
use crate::hash::{SEED_BYTES, Seeds, random_seed};
use crate::ids::{ID_BYTES, KeyId};
use crate::options::OnDuplicate;

/// Entries of a source, in storage.
pub struct EntryRuns {
    pub(super) seeds: Seeds,
    runs: Box<dyn Runs>,
    lengths: Option<Lengths>,
}

impl EntryRuns {
    /// No entries yet. `rng` draws the seed of their ids, as [`crate::build`] does.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn new(storage: &mut dyn Storage, rng: &mut dyn CryptoRng) -> Result<Self> {
        let seeds = Seeds { ids: random_seed(rng), placement: [0; SEED_BYTES] };
        Ok(Self { seeds, runs: storage.runs("entries")?, lengths: None })
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// [`Error::ValueTooLong`], and errors of the storage.
    pub fn add(&mut self, entry: &Entry) -> Result<()> {
        check_value(&entry.value, entry.line)?;
        let id = self.seeds.id(&entry.key);
        self.lengths = Lengths::and(self.lengths, entry.value.len());
        let length = |field: &[u8]| (field.len() as u64).to_le_bytes();
        let (line, key, value) = (entry.line.to_le_bytes(), length(&entry.key), length(&entry.value));
        let parts = [&id.0[..], &line, &key, &entry.key, &value, &entry.value];
        Ok(self.runs.append(run_of_id(&id), &parts)?)
    }

    /// The lengths of all values; `None` if there are none.
    pub fn lengths(&self) -> Option<Lengths> {
        self.lengths
    }

    /// Reads a run: one entry for each id, ascending by id.
    ///
    /// # Errors
    /// Errors of the storage, and the error for two keys of one id.
    pub(super) fn read(&mut self, run: usize, rule: OnDuplicate) -> Result<Sorted> {
        let bytes = self.runs.read(run)?;
        let mut rows = rows_of(&bytes)?;
        // The sort is stable: rows of one id stay in the order of the source.
        rows.par_sort_by_key(|row| row.id);
        let mut sorted = Sorted { bytes, rows: Vec::with_capacity(rows.len()), duplicates: 0, refused: None };
        for row in rows {
            sorted.push(row, rule, self.lengths.map_or(0, |lengths| lengths.count))?;
        }
        Ok(sorted)
    }

    /// Numbers of all runs.
    pub(super) fn all() -> Range<usize> {
        0..RUNS
    }
}

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

fn rows_of(bytes: &[u8]) -> Result<Vec<Row>> {
    let mut reader = Reader::new("a run of entries", bytes);
    let (mut rows, mut end) = (Vec::new(), 0);
    while !reader.is_empty() {
        let (id, line) = (KeyId(reader.array()?), reader.u64()?);
        end += ID_BYTES + size_of::<u64>();
        let mut field = || {
            let start = end + size_of::<u64>();
            end = start + reader.bytes()?.len();
            Ok::<_, Error>(start..end)
        };
        let (key, value) = (field()?, field()?);
        rows.push(Row { id, line, key, value });
    }
    Ok(rows)
}

/// The entries of a run, ascending by id.
pub(super) struct Sorted {
    bytes: Vec<u8>,
    rows: Vec<Row>,
    /// Entries that were dropped because another had the same key.
    pub(super) duplicates: u64,
    /// The first refused entry: its line, and the error.
    pub(super) refused: Option<(u64, Error)>,
}

impl Sorted {
    fn push(&mut self, row: Row, rule: OnDuplicate, entries: u64) -> Result<()> {
        let Some(last) = self.rows.last_mut().filter(|last| last.id == row.id) else {
            self.rows.push(row);
            return Ok(());
        };
        if self.bytes[last.key.clone()] != self.bytes[row.key.clone()] {
            return Err(equal_ids(entries));
        }
        self.duplicates += 1;
        match rule {
            OnDuplicate::First => {}
            OnDuplicate::Last => *last = row,
            OnDuplicate::Refuse if self.refused.as_ref().is_none_or(|(line, _)| row.line < *line) => {
                let error = duplicate_key(&self.bytes[row.key.clone()], last.line, row.line);
                self.refused = Some((row.line, error));
            }
            OnDuplicate::Refuse => {}
        }
        Ok(())
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The value of the entry of this number.
    pub(super) fn value(&self, number: usize) -> &[u8] {
        &self.bytes[self.rows[number].value.clone()]
    }

    /// Bytes of all keys.
    pub(super) fn key_bytes(&self) -> u64 {
        self.rows.iter().map(|row| row.key.len() as u64).sum()
    }

    /// Ids and values.
    pub(super) fn pairs(&self) -> impl IndexedParallelIterator<Item = Pair<&[u8]>> {
        self.rows.par_iter().map(|row| Pair { id: row.id, value: &self.bytes[row.value.clone()] })
    }

    /// The lengths of all values.
    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> {
        self.rows.iter().map(|row| row.value.len())
    }
}
