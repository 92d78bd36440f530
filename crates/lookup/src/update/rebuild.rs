//! Rebuilds of keyword tables from ids and buckets.

use papir_core::{Progress, RecordBuffer, Shape};
use rand_core::CryptoRng;

use super::cache::missing;
use super::changes::Changes;
use super::outcome::OwnedTable;
use crate::arrange::arrange;
use crate::entry::Pair;
use crate::error::Result;
use crate::ids::KeyId;
use crate::layout::KeywordLayout;
use crate::options::TableOptions;
use crate::table::KeywordTable;

/// Applies changes and arranges all keys again under a fresh placement seed. Keys keep their ids.
///
/// # Errors
/// The errors of [`super::patch()`] and [`crate::build`].
pub fn rebuild(
    table: OwnedTable<'_>,
    changes: &Changes,
    options: &TableOptions,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<KeywordTable> {
    let pairs = changes.pairs(read_all(table, progress)?);
    let (layout, records) = arrange(&pairs, table.layout.seeds.ids, options, rng, progress)?;
    Ok(KeywordTable::of(pairs, layout, records))
}

/// Reads the ids and values of all keys, ascending by id.
fn read_all(table: OwnedTable<'_>, progress: &dyn Progress) -> Result<Vec<Pair>> {
    let OwnedTable { layout, ids, .. } = table;
    // Buckets are read in order first: the ids of keys would lead to them at random.
    let records = read_buckets(table, progress)?;

    let mut pairs = Vec::with_capacity(ids.len());
    for id in ids.as_slice() {
        pairs.push(Pair {
            id: *id,
            value: value_of(layout, &records, id)?,
        });
    }
    Ok(pairs)
}

/// Reads all buckets.
fn read_buckets(table: OwnedTable<'_>, progress: &dyn Progress) -> Result<RecordBuffer> {
    const RUN_BYTES: usize = 1 << 24;
    let layout = table.layout;
    let bytes = table.layout.record_bytes();
    let mut buckets = RecordBuffer::zeroed(Shape::of_bytes(layout.records(), bytes as u64)?);
    progress.stage("reading back", layout.records());

    let run = (RUN_BYTES / bytes).max(1);
    let parts = buckets.packed_mut().chunks_mut(run * bytes);
    for (part, first) in parts.zip((0..).step_by(run)) {
        let count = (part.len() / bytes) as u64;
        table.records.read_packed(first, count, part)?;
        progress.advance(count);
    }
    Ok(buckets)
}

/// Reads the value of a key of the table.
fn value_of(layout: &KeywordLayout, buckets: &RecordBuffer, id: &KeyId) -> Result<Vec<u8>> {
    let bytes = layout.record_bytes();
    let mut value = Vec::new();
    for chunk in 0..layout.dimensions.lookups {
        let hash = layout.seeds.chunk(id, chunk);
        let start = layout.bucket_vartime(&hash) as usize * bytes;
        let bucket = &buckets.packed()[start..start + bytes];
        let found = layout
            .dimensions
            .format
            .find_vartime(bucket, hash.tag)?
            .ok_or_else(missing)?;

        value.extend_from_slice(found.payload);
        // The last chunk has all of what is left.
        if found.remaining == found.payload.len() {
            return Ok(value);
        }
    }
    Err(missing().into())
}
