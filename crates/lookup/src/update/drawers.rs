//! Buckets that are open for changes.

use std::collections::BTreeMap;

use papir_core::{Change, Error as CoreError};

use super::OwnedTable;
use crate::Result;
use crate::bucket::EntryFormat;
use crate::hash::KeyHash;
use crate::ids::KeyId;
use crate::layout::KeywordLayout;

/// Buckets of a run: bounds what is held of those between them.
const RUN_BUCKETS: usize = 256;

/// What an entry finds in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    Done,
    /// The bucket has no room for it.
    Full,
    /// Another entry has its tag.
    TagTaken,
}

/// A bucket, and its entries as they are to be.
struct Drawer {
    before: Vec<u8>,
    entries: Vec<u8>,
}

/// The buckets of a table that changes need, read when they are first asked for.
pub(super) struct Drawers<'a> {
    table: OwnedTable<'a>,
    format: EntryFormat,
    open: BTreeMap<u64, Drawer>,
}

impl<'a> Drawers<'a> {
    /// All closed. `format` is that of the entries, old and new.
    pub(super) fn new(table: OwnedTable<'a>, format: EntryFormat) -> Self {
        Self { table, format, open: BTreeMap::new() }
    }

    /// Reads the buckets of these numbers, those near each other together: a prepared database decodes
    /// many records at once or none.
    pub(super) fn open_all(&mut self, mut buckets: Vec<u64>) -> Result<()> {
        /// Buckets between two that are read along with them.
        const NEAR: u64 = 32;
        buckets.retain(|bucket| !self.open.contains_key(bucket));
        buckets.sort_unstable();
        buckets.dedup();
        for run in buckets.chunk_by(|a, b| b - a <= NEAR) {
            for part in run.chunks(RUN_BUCKETS) {
                self.open_run(part)?;
            }
        }
        Ok(())
    }

    /// Reads the buckets of a run, and what lies between them.
    fn open_run(&mut self, run: &[u64]) -> Result<()> {
        let (Some(&first), Some(&last)) = (run.first(), run.last()) else {
            return Ok(());
        };
        let (bytes, count) = (self.table.layout.record_bytes(), last - first + 1);
        let mut packed = vec![0; count as usize * bytes];
        self.table.records.read_packed(first, count, &mut packed)?;
        for &bucket in run {
            let start = (bucket - first) as usize * bytes;
            let before = packed[start..start + bytes].to_vec();
            let entries = before[..self.used(&before)?].to_vec();
            self.open.insert(bucket, Drawer { before, entries });
        }
        Ok(())
    }

    /// The bytes of a bucket's entries.
    fn used(&self, bucket: &[u8]) -> Result<usize> {
        let mut rest = bucket;
        while let Some((_, _, next)) = self.format.split(rest)? {
            rest = next;
        }
        Ok(bucket.len() - rest.len())
    }

    fn drawer(&mut self, bucket: u64) -> Result<&mut Drawer> {
        if !self.open.contains_key(&bucket) {
            self.open_all(vec![bucket])?;
        }
        self.open.get_mut(&bucket).ok_or_else(|| missing().into())
    }

    /// Bytes of the entries of a bucket.
    pub(super) fn load(&mut self, bucket: u64) -> Result<u32> {
        Ok(self.drawer(bucket)?.entries.len() as u32)
    }

    /// The tags of a bucket's entries.
    pub(super) fn tags(&mut self, bucket: u64) -> Result<Vec<u64>> {
        let format = self.format;
        let (mut rest, mut tags) = (self.drawer(bucket)?.entries.as_slice(), Vec::new());
        while let Some((tag, _, next)) = format.split(rest)? {
            tags.push(tag);
            rest = next;
        }
        Ok(tags)
    }

    /// The value of a key that the table has.
    ///
    /// # Errors
    /// [`CoreError::Malformed`] when its entries are not there: ids and buckets are of different tables.
    pub(super) fn value(&mut self, layout: &KeywordLayout, id: &KeyId) -> Result<Vec<u8>> {
        let (format, mut value) = (self.format, Vec::new());
        for chunk in 0..layout.dimensions.lookups {
            let hash = layout.seeds.chunk(id, chunk);
            let drawer = self.drawer(layout.bucket_vartime(&hash))?;
            let found = format.find_vartime(&drawer.entries, hash.tag)?.ok_or_else(missing)?;
            value.extend_from_slice(found.payload);
            if found.remaining == found.payload.len() {
                return Ok(value);
            }
        }
        Err(missing().into())
    }

    /// Takes the entry of a chunk out of its bucket, if it is there.
    pub(super) fn take(&mut self, bucket: u64, hash: &KeyHash) -> Result<Option<Vec<u8>>> {
        let format = self.format;
        let entries = &mut self.drawer(bucket)?.entries;
        let mut start = 0;
        while let Some((tag, _, next)) = format.split(&entries[start..])? {
            let end = entries.len() - next.len();
            if tag == hash.tag {
                return Ok(Some(entries.drain(start..end).collect()));
            }
            start = end;
        }
        Ok(None)
    }

    /// Puts an entry into a bucket.
    pub(super) fn put(&mut self, bucket: u64, hash: &KeyHash, entry: &[u8]) -> Result<Put> {
        let (format, most) = (self.format, self.table.layout.record_bytes());
        let entries = &mut self.drawer(bucket)?.entries;
        if format.find_vartime(entries, hash.tag)?.is_some() {
            return Ok(Put::TagTaken);
        }
        if entries.len() + entry.len() > most {
            return Ok(Put::Full);
        }
        entries.extend_from_slice(entry);
        Ok(Put::Done)
    }

    /// The buckets that differ from what they were.
    pub(super) fn close(self) -> Vec<Change> {
        let differs = |(index, drawer): (u64, Drawer)| {
            let Drawer { before, entries: mut record } = drawer;
            record.resize(before.len(), 0);
            (record != before).then_some(Change { index, record })
        };
        self.open.into_iter().filter_map(differs).collect()
    }
}

/// Ids and buckets that are not of one table.
pub(super) fn missing() -> CoreError {
    CoreError::malformed("a keyword table", "a key without an entry", "the ids of the keys that it holds")
}
