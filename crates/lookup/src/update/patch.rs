//! Updates of keyword tables in place.

use papir_core::Progress;

use super::cache::{BucketCache, Put, missing};
use super::changes::{Changes, Resolved};
use super::evict::{Overflow, place};
use super::outcome::{OwnedTable, Patch, PatchStep, Patched, RebuildReason};
use crate::error::Result;
use crate::ids::KeyId;
use crate::layout::KeywordLayout;

/// Applies changes in place. Returns the records that differ, or the reason why a rebuild is
/// necessary.
///
/// # Errors
/// Errors of the records, and [`papir_core::Error::Malformed`] if the ids belong to another table.
pub fn patch(table: OwnedTable<'_>, changes: &Changes, progress: &dyn Progress) -> Result<Patched> {
    let mut layout = table.layout.clone();
    if let Err(reason) = admit(&mut layout, changes) {
        return Ok(Patched::Rebuild(reason));
    }

    progress.stage("changing keys", changes.iter().len() as u64);
    // The extended format also reads the entries from before: their chunks are as they were.
    let cache = BucketCache::new(table, layout.dimensions.format);
    let mut draft = TableDraft {
        cache,
        layout,
        value_bytes: 0,
    };
    draft.read(changes)?;

    // All old values first: the room that they leave may hold the new ones.
    let new = draft.remove_old(changes)?;
    let overflows = match draft.insert(&new)? {
        PatchStep::Done(overflows) => overflows,
        PatchStep::Rebuild(reason) => return Ok(Patched::Rebuild(reason)),
    };
    progress.advance(changes.iter().len() as u64);

    // Eviction needs the ids after the changes, since new keys may have to move as well.
    let ids = changes.ids(table.ids);
    let TableDraft {
        mut cache,
        mut layout,
        value_bytes,
    } = draft;
    let moved = match place(&mut layout, &mut cache, &ids, overflows, progress)? {
        PatchStep::Done(moved) => moved,
        PatchStep::Rebuild(reason) => return Ok(Patched::Rebuild(reason)),
    };

    Ok(Patched::Patch(Patch {
        changes: cache.into_changes(),
        layout,
        ids,
        moved,
        value_bytes,
    }))
}

/// Extends the layout to the lengths of all new values. Fails with the reason for a rebuild.
fn admit(layout: &mut KeywordLayout, changes: &Changes) -> Result<(), RebuildReason> {
    for change in changes.iter() {
        let Some(value) = &change.value else {
            continue;
        };
        if !layout.admit(value.len()) {
            return Err(RebuildReason::Length {
                line: change.line,
                found: value.len() as u64,
            });
        }
    }
    Ok(())
}

/// A table during an update.
struct TableDraft<'a> {
    cache: BucketCache<'a>,
    layout: KeywordLayout,
    /// Growth of all values together, in bytes.
    value_bytes: i128,
}

impl TableDraft<'_> {
    /// Reads the buckets with the first chunks of all changed keys at once.
    fn read(&mut self, changes: &Changes) -> Result<()> {
        let mut buckets = Vec::new();
        for change in changes.iter() {
            // The deletion of an absent key needs no bucket.
            if change.present || change.value.is_some() {
                // Later chunks are read on use, as only the first one tells their number.
                let hash = self.layout.seeds.chunk(&change.id, 0);
                buckets.push(self.layout.bucket_vartime(&hash));
            }
        }
        self.cache.read(buckets)
    }

    /// Removes all values that are deleted or replaced, to make room for the new ones. Returns the
    /// changes with a value to insert.
    fn remove_old<'c>(&mut self, changes: &'c Changes) -> Result<Vec<&'c Resolved>> {
        let mut new = Vec::new();
        for change in changes.iter() {
            if change.present {
                // An equal value keeps its entry, so that its buckets stay as they are.
                let old = self.cache.value(&self.layout, &change.id)?;
                if change.value.as_ref() == Some(&old) {
                    continue;
                }
                self.remove(&change.id, old.len())?;
            }

            if let Some(value) = &change.value {
                self.value_bytes += value.len() as i128;
                new.push(change);
            }
        }
        Ok(new)
    }

    /// Removes all chunks of a value of `length` bytes.
    fn remove(&mut self, id: &KeyId, length: usize) -> Result<()> {
        self.value_bytes -= length as i128;
        for chunk in 0..self.layout.dimensions.format.chunks(length) as u32 {
            let hash = self.layout.seeds.chunk(id, chunk);
            let bucket = self.layout.bucket_vartime(&hash);
            self.cache.take(bucket, &hash)?.ok_or_else(missing)?;
        }
        Ok(())
    }

    /// Inserts new entries into their buckets. Returns the entries whose bucket is full.
    fn insert(&mut self, new: &[&Resolved]) -> Result<PatchStep<Vec<Overflow>>> {
        let mut overflows = Vec::new();
        for change in new {
            let value = change.value.as_deref().unwrap_or_default();
            let format = self.layout.dimensions.format;
            let line = change.line;

            for chunk in 0..format.chunks(value.len()) as u32 {
                let hash = self.layout.seeds.chunk(&change.id, chunk);
                let bucket = self.layout.bucket_vartime(&hash);
                let entry = format.entry(hash.tag, format.rest(value, chunk));
                match self.cache.put(bucket, &hash, &entry)? {
                    Put::Done => {}
                    // A full bucket is no failure yet: groups may move.
                    Put::Full => overflows.push(Overflow { hash, entry, line }),
                    Put::TagTaken => return Ok(PatchStep::Rebuild(RebuildReason::Tag { line })),
                }
            }
        }
        Ok(PatchStep::Done(overflows))
    }
}
