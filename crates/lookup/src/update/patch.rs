//! Changes in place: values replaced, entries taken out and put in, where there is room.

use papir_core::Progress;

use super::changes::Resolved;
use super::crowded::{self, Waiting};
use super::drawers::{Drawers, Put, missing};
use super::{Changes, OwnedTable, Patch, Patched, RebuildReason};
use crate::Result;
use crate::ids::KeyId;
use crate::layout::KeywordLayout;

/// A step that may find that the table has to be rebuilt.
pub(super) type Fits = std::result::Result<(), RebuildReason>;

/// The records that differ once `changes` are made, or why that takes another arrangement.
///
/// # Errors
/// Those of the records, and [`papir_core::Error::Malformed`] when the ids are not those of the
/// table's keys.
pub fn patch(table: OwnedTable<'_>, changes: &Changes, progress: &dyn Progress) -> Result<Patched> {
    let mut layout = table.layout.clone();
    if let Err(reason) = admit(&mut layout, changes) {
        return Ok(Patched::Rebuild(reason));
    }
    progress.stage("changing keys", changes.iter().len() as u64);
    let mut draft = Draft { drawers: Drawers::new(table, layout.dimensions.format), layout, value_bytes: 0 };
    draft.open(changes)?;
    let new = draft.clear(changes)?;
    let waiting = match draft.insert(&new)? {
        Ok(waiting) => waiting,
        Err(reason) => return Ok(Patched::Rebuild(reason)),
    };
    progress.advance(changes.iter().len() as u64);
    let ids = changes.ids(table.ids);
    let Draft { mut drawers, mut layout, value_bytes } = draft;
    let moved = match crowded::place(&mut layout, &mut drawers, &ids, waiting, progress)? {
        Ok(moved) => moved,
        Err(reason) => return Ok(Patched::Rebuild(reason)),
    };
    Ok(Patched::Patch(Patch { changes: drawers.close(), layout, ids, moved, value_bytes }))
}

/// Makes the layout one that holds all new values.
fn admit(layout: &mut KeywordLayout, changes: &Changes) -> Fits {
    let mut values = changes.iter().filter_map(|change| Some((change.line, change.value.as_ref()?.len())));
    values.try_for_each(|(line, length)| {
        let found = length as u64;
        if layout.admit(length) { Ok(()) } else { Err(RebuildReason::Length { line, found }) }
    })
}

/// A table in the making.
struct Draft<'a> {
    drawers: Drawers<'a>,
    layout: KeywordLayout,
    /// By how many bytes all values together have become longer.
    value_bytes: i128,
}

impl Draft<'_> {
    /// Reads the buckets of all changed keys' first chunks at once.
    fn open(&mut self, changes: &Changes) -> Result<()> {
        let first = |id: &KeyId| self.layout.bucket_vartime(&self.layout.seeds.chunk(id, 0));
        let concerned = changes.iter().filter(|change| change.present || change.value.is_some());
        let buckets = concerned.map(|change| first(&change.id)).collect();
        self.drawers.open_all(buckets)
    }

    /// Takes out what is deleted or gets another value, before anything new needs the room. Gives the
    /// changes that put something in.
    fn clear<'c>(&mut self, changes: &'c Changes) -> Result<Vec<&'c Resolved>> {
        let mut new = Vec::new();
        for change in changes.iter() {
            if change.present {
                let old = self.drawers.value(&self.layout, &change.id)?;
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

    /// Takes out all chunks of a value of this length.
    fn remove(&mut self, id: &KeyId, length: usize) -> Result<()> {
        self.value_bytes -= length as i128;
        for chunk in 0..self.layout.dimensions.format.chunks(length) as u32 {
            let hash = self.layout.seeds.chunk(id, chunk);
            let bucket = self.layout.bucket_vartime(&hash);
            self.drawers.take(bucket, &hash)?.ok_or_else(missing)?;
        }
        Ok(())
    }

    /// Puts new entries into their buckets; gives those that find theirs full.
    fn insert(&mut self, new: &[&Resolved]) -> Result<std::result::Result<Vec<Waiting>, RebuildReason>> {
        let mut waiting = Vec::new();
        for change in new {
            let value = change.value.as_deref().unwrap_or_default();
            let (format, line) = (self.layout.dimensions.format, change.line);
            for chunk in 0..format.chunks(value.len()) as u32 {
                let hash = self.layout.seeds.chunk(&change.id, chunk);
                let entry = format.entry(hash.tag, format.rest(value, chunk));
                match self.drawers.put(self.layout.bucket_vartime(&hash), &hash, &entry)? {
                    Put::Done => {}
                    Put::Full => waiting.push(Waiting { hash, entry, line }),
                    Put::TagTaken => return Ok(Err(RebuildReason::Tag { line })),
                }
            }
        }
        Ok(Ok(waiting))
    }
}
