//! Entries without duplicates in storage, by id.
//!
//! They have no keys and no lines, which are only needed to resolve duplicates.

use std::ops::Range;

use rayon::prelude::*;

use super::varint::{self, Varint};
use super::{Runs, Storage};
use crate::entry::Pair;
use crate::error::Result;
use crate::ids::{ID_BYTES, KeyId};

/// Bytes of an entry in addition to its value: its id, and one byte for the length of most values.
pub(super) const ENTRY_BYTES: u64 = ID_BYTES as u64 + 1;

/// The entries of all runs, ascending by id.
pub(super) struct ResolvedRuns(Box<dyn Runs>);

impl ResolvedRuns {
    pub(super) fn new(storage: &mut dyn Storage) -> Result<Self> {
        Ok(Self(storage.runs("resolved")?))
    }

    /// Appends an entry to a run. The caller adds the entries of a run ascending by id.
    pub(super) fn add(&mut self, run: usize, entry: &Pair<&[u8]>) -> Result<()> {
        let length = Varint::of(entry.value.len() as u64);
        let fields = [&entry.id.0[..], length.as_bytes(), entry.value];
        Ok(self.0.append(run, &fields)?)
    }

    /// Reads the entries of a run.
    pub(super) fn read(&mut self, run: usize) -> Result<ResolvedRun> {
        let mut bytes = Vec::new();
        self.0.read(run, &mut bytes)?;

        let mut rows = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let id = bytes.get(at..).and_then(|rest| rest.first_chunk());
            let id = KeyId(*id.ok_or_else(varint::torn)?);
            at += ID_BYTES;
            let value = varint::read_field(&bytes, &mut at)?;
            rows.push(ResolvedRow { id, value });
        }
        Ok(ResolvedRun { bytes, rows })
    }

    /// Frees the space of a run that is not read again.
    pub(super) fn free(&mut self, run: usize) {
        self.0.free(run);
    }

    /// Returns whether the space of runs is freed.
    pub(super) fn frees(&self) -> bool {
        self.0.frees()
    }
}

/// An entry of a run: its id, and the range of its value in the run's bytes.
struct ResolvedRow {
    id: KeyId,
    value: Range<usize>,
}

/// The entries of a run in memory.
pub(super) struct ResolvedRun {
    bytes: Vec<u8>,
    rows: Vec<ResolvedRow>,
}

impl ResolvedRun {
    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The id of the entry with index `number`.
    pub(super) fn id(&self, number: usize) -> &KeyId {
        &self.rows[number].id
    }

    /// The value of the entry with index `number`.
    pub(super) fn value(&self, number: usize) -> &[u8] {
        &self.bytes[self.rows[number].value.clone()]
    }

    /// The ids and values of all entries, ascending by id.
    pub(super) fn pairs(&self) -> impl IndexedParallelIterator<Item = Pair<&[u8]>> {
        self.rows.par_iter().map(|row| Pair {
            id: row.id,
            value: &self.bytes[row.value.clone()],
        })
    }
}
