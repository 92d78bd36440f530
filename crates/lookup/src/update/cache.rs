//! Cache of buckets during an update.

use std::collections::BTreeMap;
use std::ops::Range;

use papir_core::{Change, Error as CoreError};

use super::outcome::OwnedTable;
use crate::bucket::EntryFormat;
use crate::error::Result;
use crate::hash::KeyHash;
use crate::ids::KeyId;
use crate::layout::KeywordLayout;

/// Maximum number of changed buckets that are read at once. It bounds the memory for the unchanged
/// buckets between them, with [`NEAR_BUCKETS`] and [`NEAR_BYTES`] to 64 MiB.
const RUN_BUCKETS: usize = 256;
/// Maximum gap, in buckets, between two buckets that are read together.
const NEAR_BUCKETS: u64 = 32;
/// Maximum length in bytes of a bucket that is read and of the gap behind it, unless the bucket
/// alone is longer.
const NEAR_BYTES: usize = 1 << 18;
/// Maximum bytes of buckets that are all kept once their loads are read. It is also the memory for
/// the loads of more buckets, which are not kept.
const KEPT_BYTES: usize = 1 << 25;

/// The outcome of inserting an entry into a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    Done,
    /// The bucket has too little room.
    Full,
    /// Another entry has the same tag.
    TagTaken,
}

/// A bucket: its bytes before the update, and its entries after it.
struct CachedBucket {
    before: Vec<u8>,
    entries: Vec<u8>,
}

/// The buckets that an update uses, each read on first use.
pub(super) struct BucketCache<'a> {
    table: OwnedTable<'a>,
    format: EntryFormat,
    buckets: BTreeMap<u64, CachedBucket>,
    /// Bytes of the entries of buckets that were read for that alone. Those that are in `buckets`
    /// may have changed since.
    measured: BTreeMap<u64, u32>,
}

impl<'a> BucketCache<'a> {
    /// An empty cache. `format` is the format of the entries after the update, which also reads the
    /// earlier ones.
    pub(super) fn new(table: OwnedTable<'a>, format: EntryFormat) -> Self {
        Self {
            table,
            format,
            buckets: BTreeMap::new(),
            measured: BTreeMap::new(),
        }
    }

    /// Reads these buckets. Buckets near each other are read together, since a prepared database
    /// decodes many records at once.
    pub(super) fn read(&mut self, mut buckets: Vec<u64>) -> Result<()> {
        // A bucket in the cache may have changed: reading it again would lose the change.
        buckets.retain(|bucket| !self.buckets.contains_key(bucket));
        buckets.sort_unstable();
        buckets.dedup();

        let near = self.near_buckets();
        for run in buckets.chunk_by(|a, b| b - a <= near) {
            for part in run.chunks(RUN_BUCKETS) {
                self.read_run(part)?;
            }
        }
        Ok(())
    }

    /// Maximum gap between two buckets that are read together: fewer if buckets are long.
    fn near_buckets(&self) -> u64 {
        let buckets = (NEAR_BYTES / self.table.layout.record_bytes()) as u64;
        buckets.clamp(1, NEAR_BUCKETS)
    }

    /// Reads the buckets of a run together with the buckets between them.
    fn read_run(&mut self, run: &[u64]) -> Result<()> {
        let (Some(&first), Some(&last)) = (run.first(), run.last()) else {
            return Ok(());
        };

        let bytes = self.table.layout.record_bytes();
        let count = last - first + 1;
        let mut packed = vec![0; count as usize * bytes];
        self.table.records.read_packed(first, count, &mut packed)?;

        // The buckets between those of the run were read with them, and are dropped.
        for &bucket in run {
            let start = (bucket - first) as usize * bytes;
            let before = packed[start..start + bytes].to_vec();
            let entries = before[..self.used(&before)?].to_vec();
            self.buckets
                .insert(bucket, CachedBucket { before, entries });
        }
        Ok(())
    }

    /// Length of a bucket's entries in bytes.
    fn used(&self, bucket: &[u8]) -> Result<usize> {
        let mut rest = bucket;
        while let Some(split) = self.format.split(rest)? {
            rest = split.rest;
        }
        Ok(bucket.len() - rest.len())
    }

    /// Returns a bucket, which is read on first use.
    fn bucket(&mut self, bucket: u64) -> Result<&mut CachedBucket> {
        if !self.buckets.contains_key(&bucket) {
            self.read(vec![bucket])?;
        }
        self.buckets
            .get_mut(&bucket)
            .ok_or_else(|| missing().into())
    }

    /// Bytes of the entries of consecutive buckets after the changes so far.
    pub(super) fn loads(&mut self, buckets: Range<u64>) -> Result<Vec<u32>> {
        let count = buckets.end.saturating_sub(buckets.start);
        let bytes = count.saturating_mul(self.table.layout.record_bytes() as u64);
        // Moves of keys read most buckets of a short region again, but few of a region with
        // gigabytes.
        if bytes <= KEPT_BYTES as u64 {
            self.read(buckets.clone().collect())?;
        } else {
            self.measure(buckets.clone())?;
        }
        buckets.map(|bucket| self.load(bucket)).collect()
    }

    /// Bytes of the entries of a bucket that was read or measured.
    fn load(&self, bucket: u64) -> Result<u32> {
        // The bucket itself comes first: only it has the changes.
        let load = match self.buckets.get(&bucket) {
            Some(cached) => Some(cached.entries.len() as u32),
            None => self.measured.get(&bucket).copied(),
        };
        load.ok_or_else(|| missing().into())
    }

    /// Reads the loads of buckets, without keeping the buckets.
    fn measure(&mut self, buckets: Range<u64>) -> Result<()> {
        let bytes = self.table.layout.record_bytes();
        let step = (KEPT_BYTES / bytes).max(1);

        let mut packed = Vec::new();
        for first in buckets.clone().step_by(step) {
            let count = (buckets.end - first).min(step as u64);
            let mut part = first..first + count;
            if part.all(|bucket| self.load(bucket).is_ok()) {
                continue;
            }

            packed.resize(count as usize * bytes, 0);
            self.table.records.read_packed(first, count, &mut packed)?;
            for (bucket, record) in (first..).zip(packed.chunks_exact(bytes)) {
                let used = self.used(record)? as u32;
                self.measured.insert(bucket, used);
            }
        }
        Ok(())
    }

    /// The tags of a bucket's entries.
    pub(super) fn tags(&mut self, bucket: u64) -> Result<Vec<u64>> {
        let format = self.format;
        let mut rest = self.bucket(bucket)?.entries.as_slice();
        let mut tags = Vec::new();
        while let Some(split) = format.split(rest)? {
            tags.push(split.tag);
            rest = split.rest;
        }
        Ok(tags)
    }

    /// Reads the value of a key of the table. If an entry is missing, ids and buckets belong to
    /// different tables, which is an error.
    pub(super) fn value(&mut self, layout: &KeywordLayout, id: &KeyId) -> Result<Vec<u8>> {
        let format = self.format;
        let mut value = Vec::new();
        for chunk in 0..layout.dimensions.lookups {
            let hash = layout.seeds.chunk(id, chunk);
            let bucket = self.bucket(layout.bucket_vartime(&hash))?;
            let found = format
                .find_vartime(&bucket.entries, hash.tag)?
                .ok_or_else(missing)?;

            value.extend_from_slice(found.payload);
            // The last chunk has all of what is left.
            if found.remaining == found.payload.len() {
                return Ok(value);
            }
        }
        Err(missing().into())
    }

    /// Removes the entry of a chunk from its bucket, and returns it; `None` if the bucket does not
    /// have it.
    pub(super) fn take(&mut self, bucket: u64, hash: &KeyHash) -> Result<Option<Vec<u8>>> {
        let format = self.format;
        let wanted = format.tag(hash.tag);
        let entries = &mut self.bucket(bucket)?.entries;

        let mut start = 0;
        while let Some(split) = format.split(&entries[start..])? {
            let end = entries.len() - split.rest.len();
            if split.tag == wanted {
                // The rest moves up: a bucket has its entries without gaps.
                return Ok(Some(entries.drain(start..end).collect()));
            }
            start = end;
        }
        Ok(None)
    }

    /// Inserts an entry into a bucket.
    pub(super) fn put(&mut self, bucket: u64, hash: &KeyHash, entry: &[u8]) -> Result<Put> {
        let format = self.format;
        let most = self.table.layout.record_bytes();
        let entries = &mut self.bucket(bucket)?.entries;

        // An equal tag comes first: the table is then built again, whatever the room.
        if format.find_vartime(entries, hash.tag)?.is_some() {
            return Ok(Put::TagTaken);
        }
        if entries.len() + entry.len() > most {
            return Ok(Put::Full);
        }

        entries.extend_from_slice(entry);
        Ok(Put::Done)
    }

    /// The buckets whose bytes have changed.
    pub(super) fn into_changes(self) -> Vec<Change> {
        // Equal buckets are left out: their records would be prepared again for nothing.
        let mut changes = Vec::new();
        for (index, bucket) in self.buckets {
            let mut record = bucket.entries;
            record.resize(bucket.before.len(), 0);
            if record != bucket.before {
                changes.push(Change { index, record });
            }
        }
        changes
    }
}

/// The error for ids and buckets that belong to different tables.
pub(super) fn missing() -> CoreError {
    CoreError::malformed(
        "a keyword table",
        "a key without an entry",
        "the ids of the keys that it holds",
    )
}
