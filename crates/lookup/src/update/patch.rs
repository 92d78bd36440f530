//! Updates in place: replaces, removes and inserts entries where there is room.

use papir_core::Progress;

use super::cache::{BucketCache, Put, missing};
use super::changes::{Changes, Resolved};
use super::evict::{Overflow, place};
use super::outcome::{OwnedTable, Patch, Patched, RebuildReason};
use crate::error::Result;
use crate::ids::KeyId;
use crate::layout::KeywordLayout;

/// Applies changes in place. Returns the records that differ, or why the table must be rebuilt.
///
/// # Errors
/// Errors of the records, and [`papir_core::Error::Malformed`] if the ids belong to another table.
pub fn patch(table: OwnedTable<'_>, changes: &Changes, progress: &dyn Progress) -> Result<Patched> {
    let mut layout = table.layout.clone();
    if let Err(reason) = admit(&mut layout, changes) {
        return Ok(Patched::Rebuild(reason));
    }
    progress.stage("changing keys", changes.iter().len() as u64);
    let cache = BucketCache::new(table, layout.dimensions.format);
    let mut draft = Draft {
        cache,
        layout,
        value_bytes: 0,
    };
    draft.read(changes)?;
    let new = draft.remove_old(changes)?;
    let overflows = match draft.insert(&new)? {
        Ok(overflows) => overflows,
        Err(reason) => return Ok(Patched::Rebuild(reason)),
    };
    progress.advance(changes.iter().len() as u64);
    let ids = changes.ids(table.ids);
    let Draft {
        mut cache,
        mut layout,
        value_bytes,
    } = draft;
    let moved = match place(&mut layout, &mut cache, &ids, overflows, progress)? {
        Ok(moved) => moved,
        Err(reason) => return Ok(Patched::Rebuild(reason)),
    };
    Ok(Patched::Patch(Patch {
        changes: cache.into_changes(),
        layout,
        ids,
        moved,
        value_bytes,
    }))
}

/// Extends the layout to the lengths of all new values.
fn admit(layout: &mut KeywordLayout, changes: &Changes) -> Result<(), RebuildReason> {
    let mut values = changes
        .iter()
        .filter_map(|change| Some((change.line, change.value.as_ref()?.len())));
    values.try_for_each(|(line, length)| {
        let found = length as u64;
        if layout.admit(length) {
            Ok(())
        } else {
            Err(RebuildReason::Length { line, found })
        }
    })
}

/// A table during an update.
struct Draft<'a> {
    cache: BucketCache<'a>,
    layout: KeywordLayout,
    /// Growth of all values together, in bytes.
    value_bytes: i128,
}

impl Draft<'_> {
    /// Reads the buckets of the first chunks of all changed keys at once.
    fn read(&mut self, changes: &Changes) -> Result<()> {
        let first = |id: &KeyId| self.layout.bucket_vartime(&self.layout.seeds.chunk(id, 0));
        let concerned = changes
            .iter()
            .filter(|change| change.present || change.value.is_some());
        let buckets = concerned.map(|change| first(&change.id)).collect();
        self.cache.read(buckets)
    }

    /// Removes all old values that are deleted or replaced, to make room for the new ones. Returns
    /// the changes that insert a value.
    fn remove_old<'c>(&mut self, changes: &'c Changes) -> Result<Vec<&'c Resolved>> {
        let mut new = Vec::new();
        for change in changes.iter() {
            if change.present {
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

    /// Removes all chunks of a value of this length.
    fn remove(&mut self, id: &KeyId, length: usize) -> Result<()> {
        self.value_bytes -= length as i128;
        for chunk in 0..self.layout.dimensions.format.chunks(length) as u32 {
            let hash = self.layout.seeds.chunk(id, chunk);
            let bucket = self.layout.bucket_vartime(&hash);
            self.cache.take(bucket, &hash)?.ok_or_else(missing)?;
        }
        Ok(())
    }

    /// Inserts new entries into their buckets. Returns those whose bucket is full.
    fn insert(&mut self, new: &[&Resolved]) -> Result<Result<Vec<Overflow>, RebuildReason>> {
        let mut overflows = Vec::new();
        for change in new {
            let value = change.value.as_deref().unwrap_or_default();
            let format = self.layout.dimensions.format;
            let line = change.line;
            for chunk in 0..format.chunks(value.len()) as u32 {
                let hash = self.layout.seeds.chunk(&change.id, chunk);
                let entry = format.entry(hash.tag, format.rest(value, chunk));
                match self
                    .cache
                    .put(self.layout.bucket_vartime(&hash), &hash, &entry)?
                {
                    Put::Done => {}
                    Put::Full => overflows.push(Overflow { hash, entry, line }),
                    Put::TagTaken => return Ok(Err(RebuildReason::Tag { line })),
                }
            }
        }
        Ok(Ok(overflows))
    }
}
