//! Entries of a source in storage, by id.
//!
//! In storage, a row has the difference of its line from the line of the row before it in its run,
//! the length of its key, the key's id, and the value with its length. The numbers have variable
//! length. Keys are not stored: their ids place them, and duplicates are known by their lines. A
//! run that is read is sorted and has no duplicates.

use std::ops::Range;

use papir_core::Error as CoreError;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::varint::{self, Varint};
use super::{RUNS, ReadRuns, Runs, run_of};
use crate::build::equal_ids;
use crate::dimensions::Lengths;
use crate::entry::{Entry, Pair, check_value};
use crate::error::Result;
use crate::hash::{SEED_BYTES, Seeds, random_seed};
use crate::ids::{ID_BYTES, KeyId};
use crate::options::OnDuplicate;

/// The seed of the ids of a table's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdSeed(pub [u8; SEED_BYTES]);

impl IdSeed {
    /// Draws a random seed, as [`crate::build`] does.
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

/// Entries that one process is writing to storage.
pub struct AddedEntries {
    seed: IdSeed,
    runs: Box<dyn Runs>,
    /// The line of the last row of each run.
    lines: Vec<u64>,
    lengths: Option<Lengths>,
    /// Bytes of all rows in storage.
    bytes: u64,
}

impl AddedEntries {
    /// Starts without entries, with empty runs. `seed` is the seed of the ids.
    pub fn new(seed: IdSeed, runs: Box<dyn Runs>) -> Self {
        Self {
            seed,
            runs,
            lines: vec![0; RUNS],
            lengths: None,
            bytes: 0,
        }
    }

    /// Writes an entry to its run.
    ///
    /// # Errors
    /// [`crate::Error::ValueTooLong`] for a value longer than [`crate::MAX_VALUE_BYTES`], and
    /// errors of the storage.
    pub fn add(&mut self, entry: &Entry) -> Result<()> {
        check_value(&entry.value, entry.line)?;
        let id = self.seed.seeds().id(&entry.key);
        self.lengths = Lengths::and(self.lengths, entry.value.len());

        // Lines ascend, so that the difference is small.
        let run = run_of_id(&id);
        let line = Varint::of(entry.line.wrapping_sub(self.lines[run]));
        self.lines[run] = entry.line;

        let key_bytes = Varint::of(entry.key.len() as u64);
        let value_bytes = Varint::of(entry.value.len() as u64);
        let fields = [
            line.as_bytes(),
            key_bytes.as_bytes(),
            &id.0[..],
            value_bytes.as_bytes(),
            &entry.value,
        ];
        let length: usize = fields.iter().map(|field| field.len()).sum();
        self.bytes += length as u64;
        Ok(self.runs.append(run, &fields)?)
    }

    /// Statistics of the lengths of the values so far; `None` without entries.
    pub fn lengths(&self) -> Option<Lengths> {
        self.lengths
    }

    /// Ends the writing, and returns the entries for reading.
    pub fn finish(self) -> EntryPart {
        EntryPart {
            runs: self.runs,
            lengths: self.lengths,
            bytes: self.bytes,
        }
    }
}

/// Entries that one process has written.
pub struct EntryPart {
    /// The runs of the entries, by id.
    pub runs: Box<dyn ReadRuns>,
    /// Statistics of the lengths of the values; `None` without entries.
    pub lengths: Option<Lengths>,
    /// Bytes of all runs.
    pub bytes: u64,
}

/// All entries of a source, in one or more parts.
pub struct EntryRuns {
    pub(super) seeds: Seeds,
    parts: Vec<EntryPart>,
}

impl EntryRuns {
    /// The entries of parts whose ids have this seed, one part after the other. If there are
    /// several parts, each must use the numbers of its entries, from 1, as their lines: line 1 of a
    /// part then follows the last line of the part before.
    pub fn new(seed: IdSeed, parts: Vec<EntryPart>) -> Self {
        Self {
            seeds: seed.seeds(),
            parts,
        }
    }

    /// Statistics of the lengths of all values; `None` without entries.
    pub fn lengths(&self) -> Option<Lengths> {
        self.parts
            .iter()
            .filter_map(|part| part.lengths)
            .reduce(Lengths::joined)
    }

    /// Reads a run: one entry for each id, ascending by id. Refuses two keys with one id.
    pub(super) fn read(&mut self, run: usize, rule: OnDuplicate) -> Result<Sorted> {
        let mut bytes = Vec::new();
        let mut rows = Vec::new();
        let mut count = 0u64;
        let several = self.parts.len() > 1;
        for part in &mut self.parts {
            let start = bytes.len();
            let first = rows.len();
            let entries = part.lengths.map_or(0, |lengths| lengths.count);
            part.runs.read(run, &mut bytes)?;

            // Rows have places in the bytes of all parts, so a part is read from where it starts.
            add_rows(&bytes, start, count, &mut rows)?;
            count = count.saturating_add(entries);
            // Lines beyond the entries would be those of the next part.
            if several {
                check_lines(&rows[first..], count, entries)?;
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

    /// Frees the space of a run that is not read again.
    pub(super) fn free(&mut self, run: usize) {
        for part in &mut self.parts {
            part.runs.free(run);
        }
    }

    /// The bytes of storage that are freed with runs.
    pub(super) fn freed_bytes(&self) -> u64 {
        let freeing = self.parts.iter().filter(|part| part.runs.frees());
        freeing.map(|part| part.bytes).sum()
    }

    /// Removes all entries, and with them their space in storage.
    pub(super) fn clear(&mut self) {
        self.parts.clear();
    }

    /// The numbers of all runs.
    pub(super) fn all() -> Range<usize> {
        0..RUNS
    }
}

/// The run of an id, by its first bits.
pub(super) fn run_of_id(id: &KeyId) -> usize {
    let mut first = [0; 8];
    first.copy_from_slice(&id.0[..8]);
    run_of(u64::from_be_bytes(first))
}

/// Reads an id at the offset `at` of a run, and advances the offset.
pub(super) fn read_id(run: &[u8], at: &mut usize) -> Result<KeyId> {
    let id = run.get(*at..).and_then(|rest| rest.first_chunk());
    let id = KeyId(*id.ok_or_else(varint::torn)?);
    *at += ID_BYTES;
    Ok(id)
}

/// An entry of a run: the id and the length of its key, its line, and the range of its value in the
/// run's bytes.
struct RunEntry {
    id: KeyId,
    key_bytes: u64,
    line: u64,
    value: Range<usize>,
}

/// Adds the rows in the bytes from `at` on to `rows`. Their lines are counted after `before` lines.
fn add_rows(bytes: &[u8], mut at: usize, before: u64, rows: &mut Vec<RunEntry>) -> Result<()> {
    let mut line = 0u64;
    while at < bytes.len() {
        line = line.wrapping_add(varint::read(bytes, &mut at)?);
        let key_bytes = varint::read(bytes, &mut at)?;
        let id = read_id(bytes, &mut at)?;
        let value = varint::read_field(bytes, &mut at)?;
        rows.push(RunEntry {
            id,
            key_bytes,
            line: line.saturating_add(before),
            value,
        });
    }
    Ok(())
}

/// Refuses rows of a part with a line after `last`, the line of the last of the part's `entries`
/// entries.
fn check_lines(rows: &[RunEntry], last: u64, entries: u64) -> Result<()> {
    let Some(after) = rows.iter().find(|row| row.line > last) else {
        return Ok(());
    };
    let line = after.line.saturating_sub(last).saturating_add(entries);
    let found = format!("line {line} in a part of {entries} entries");
    let expected = "each part to number its entries from 1 as their lines";
    Err(CoreError::malformed("a run of entries", found, expected).into())
}

/// The entries of a run in memory, ascending by id.
pub(super) struct Sorted {
    bytes: Vec<u8>,
    rows: Vec<RunEntry>,
    /// Number of entries that were dropped because another entry had the same key.
    pub(super) duplicates: u64,
    /// The refused entry with the first line; `None` if no entry is refused.
    pub(super) refused: Option<Refused>,
}

/// An entry that the rule for duplicates refuses.
#[derive(Clone, Copy)]
pub(super) struct Refused {
    /// The line of the entry that had its key before.
    pub(super) first: u64,
    pub(super) line: u64,
}

impl Sorted {
    /// Adds a row, or applies the rule if the last row has the same key. `entries` is the number of
    /// all entries, for errors.
    fn push(&mut self, row: RunEntry, rule: OnDuplicate, entries: u64) -> Result<()> {
        let Some(last) = self.rows.last_mut().filter(|last| last.id == row.id) else {
            self.rows.push(row);
            return Ok(());
        };
        // Two keys of one id would be one key of the table. Keys of one length are not told apart:
        // two of 2³² have one id with probability below 2⁻⁶⁴.
        if last.key_bytes != row.key_bytes {
            return Err(equal_ids(entries));
        }

        self.duplicates += 1;
        match rule {
            OnDuplicate::First => {}
            OnDuplicate::Last => *last = row,
            OnDuplicate::Refuse => {
                // Rows come by id: a later one may have an earlier line.
                let line = row.line;
                if self.refused.is_none_or(|earliest| line < earliest.line) {
                    let first = last.line;
                    self.refused = Some(Refused { first, line });
                }
            }
        }
        Ok(())
    }

    /// Bytes of all keys.
    pub(super) fn key_bytes(&self) -> u64 {
        self.rows.iter().map(|row| row.key_bytes).sum()
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The id and the value of the entry with index `number`.
    pub(super) fn pair(&self, number: usize) -> Pair<&[u8]> {
        let row = &self.rows[number];
        Pair {
            id: row.id,
            value: &self.bytes[row.value.clone()],
        }
    }

    /// The ids and values of all entries, ascending by id.
    pub(super) fn pairs(&self) -> impl IndexedParallelIterator<Item = Pair<&[u8]>> {
        (0..self.len())
            .into_par_iter()
            .map(move |number| self.pair(number))
    }

    /// The lengths of all values.
    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> {
        self.rows.iter().map(|row| row.value.len())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::outside::HeapRuns;

    const SEED: IdSeed = IdSeed([1; SEED_BYTES]);

    /// A part with one key on each of these lines.
    fn part(lines: &[u64]) -> EntryPart {
        let mut added = AddedEntries::new(SEED, Box::<HeapRuns>::default());
        for &line in lines {
            let entry = Entry {
                key: b"key".to_vec(),
                value: Vec::new(),
                line,
            };
            added.add(&entry).unwrap();
        }
        added.finish()
    }

    /// Reads the run of the key from parts with these lines.
    fn read(parts: &[&[u64]]) -> Result<Sorted> {
        let parts = parts.iter().map(|lines| part(lines)).collect();
        let run = run_of_id(&SEED.seeds().id(b"key"));
        EntryRuns::new(SEED, parts).read(run, OnDuplicate::Refuse)
    }

    /// The first line of the key, and that of its first duplicate.
    fn duplicate(parts: &[&[u64]]) -> (u64, u64) {
        let refused = read(parts).unwrap().refused.unwrap();
        (refused.first, refused.line)
    }

    #[test]
    fn lines_of_several_parts_follow_each_other() {
        assert_eq!(duplicate(&[&[1], &[1]]), (1, 2));
        // A single part may have lines without entries, such as a header.
        assert_eq!(duplicate(&[&[2, 7, 9]]), (2, 7));
    }

    #[test]
    fn keys_of_one_id_with_other_lengths_are_refused() {
        let id = SEED.seeds().id(b"key");
        let rows = [3, 4].map(|key_bytes| {
            let numbers = [Varint::of(1), Varint::of(key_bytes), Varint::of(0)];
            let [line, key, value] = numbers.each_ref().map(Varint::as_bytes);
            [line, key, &id.0[..], value].concat()
        });

        let mut runs = Box::<HeapRuns>::default();
        let run = run_of_id(&id);
        runs.append(run, &[&rows[0], &rows[1]]).unwrap();
        let part = EntryPart {
            runs,
            lengths: Some(Lengths::equal(2, 0)),
            bytes: 0,
        };
        let mut entries = EntryRuns::new(SEED, vec![part]);
        let error = entries.read(run, OnDuplicate::First).err().unwrap();
        assert!(error.to_string().contains("128-bit ids"), "{error}");
    }

    #[test]
    fn lines_beyond_the_entries_of_a_part_are_refused() {
        for parts in [[&[2][..], &[1][..]], [&[1][..], &[2][..]]] {
            let error = read(&parts).err().unwrap().to_string();
            assert!(
                error.contains("line 2 in a part of 1 entries"),
                "{error}: a line of another part"
            );
        }
    }
}
