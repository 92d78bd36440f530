//! Construction of keyword tables from entries in storage.

use papir_core::scratch::Scratch;
use papir_core::{Blob, Error as CoreError, Progress, Shape};
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::items::{Hashing, ItemRuns};
use super::resolved::{ENTRY_BYTES, ResolvedRuns};
use super::rows::{EntryRuns, Refused};
use super::{RUNS, Storage};
use crate::arrange::{SEEDS, TablePlan, items_of, too_many};
use crate::bucket::LEAST_TAG_BYTES;
use crate::dimensions::Lengths;
use crate::error::{Error, Result};
use crate::fill::fill;
use crate::hash::{Seeds, random_seed};
use crate::ids::ID_BYTES;
use crate::items::Item;
use crate::layout::KeywordLayout;
use crate::options::{OnDuplicate, TableOptions};
use crate::table::TableReport;

/// A keyword table whose buckets and ids are in storage outside memory.
pub struct SpilledTable {
    /// The public layout, with which clients find keys.
    pub layout: KeywordLayout,
    /// The buckets, as packed records.
    pub buckets: Blob,
    /// The ids of the keys, encoded as by [`crate::KeyIds::encode`].
    pub ids: Blob,
    /// Sizes of the table.
    pub report: TableReport,
}

/// Bytes in storage of a value of one chunk besides the value, once as an item and once in its
/// bucket: an id, three numbers, and the tags. Items that are hashed again take more, and ask for
/// it.
const ITEM_BYTES: u64 = ID_BYTES as u64 + 4 + 2 * LEAST_TAG_BYTES as u64;

/// Name of the part of the [`Scratch`] with the buckets.
pub const BUCKETS: &str = "buckets";
/// Name of the part of the [`Scratch`] with the ids.
pub const IDS: &str = "ids";

/// Arranges entries in a keyword table. `place` stores runs and parts. The result equals the result
/// of [`crate::build`] with the same random bytes.
///
/// # Errors
/// The errors of [`crate::build`] and of `place`, with [`Error::RepeatedKey`] in place of
/// [`Error::DuplicateKey`]: [`crate::name_duplicate`] names the key if the source can be read
/// again.
pub fn build(
    entries: &mut EntryRuns,
    options: &TableOptions,
    place: &mut (impl Storage + Scratch),
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<SpilledTable> {
    place.check_room(room_to_resolve(entries))?;
    let mut resolved = ResolvedRuns::new(place)?;
    let summary = resolve(entries, options.on_duplicate, &mut resolved, progress)?;
    // Lines and lengths of keys were for duplicates only.
    entries.clear();

    let count = summary.lengths.count;
    let plan = TablePlan::new(options, &summary.lengths)?;
    place.check_room(room_to_place(&resolved, &summary.lengths))?;

    let mut source = ItemSource::Resolved(resolved);
    for _ in 0..SEEDS {
        let seeds = Seeds {
            placement: random_seed(rng),
            ..entries.seeds
        };
        let hashing = Hashing {
            seeds,
            format: plan.dimensions.format,
        };
        let mut items = source.hashed(hashing, count, place, progress)?;
        let weights = items.weights;
        let layout = plan.place(&mut items, &weights, seeds, progress)?;

        // Equal tags show up only now: another seed then gives every key another tag.
        let shape = Shape::of_bytes(layout.records(), layout.record_bytes() as u64)?;
        // A try that fails leaves entries in its buckets, so the next one starts with new buckets.
        let mut buckets = place.zeroed(BUCKETS, shape.total_bytes() as usize)?;
        if !fill(&mut items, &layout, buckets.bytes_mut(), progress)? {
            source = ItemSource::Items(items);
            continue;
        }

        let report = summary.report(&layout);
        let buckets = place.keep(BUCKETS, buckets)?;

        // The space of the items in storage is for the ids, and is freed before their part takes
        // its own.
        let sorted = items.into_ids(place)?;
        let mut ids = place.zeroed(IDS, count as usize * ID_BYTES)?;
        sorted.write(ids.bytes_mut())?;
        let ids = place.keep(IDS, ids)?;
        return Ok(SpilledTable {
            layout,
            buckets,
            ids,
            report,
        });
    }

    Err(too_many(count))
}

/// Statistics of the entries without duplicates.
struct Summary {
    lengths: Lengths,
    duplicates: u64,
    key_bytes: u64,
}

impl Summary {
    /// The report of a table with these entries and this layout.
    fn report(&self, layout: &KeywordLayout) -> TableReport {
        TableReport {
            duplicates: self.duplicates,
            key_bytes: Some(self.key_bytes),
            ..TableReport::new(self.lengths.count, self.lengths.total, layout)
        }
    }
}

/// Sorts all runs, and adds their entries without duplicates to `resolved`. Refuses an empty source
/// and, if the rule says so, the first duplicate of the source.
fn resolve(
    entries: &mut EntryRuns,
    rule: OnDuplicate,
    resolved: &mut ResolvedRuns,
    progress: &dyn Progress,
) -> Result<Summary> {
    progress.stage("naming keys", RUNS as u64);
    let mut lengths = None;
    let mut refused = None;
    let mut duplicates = 0;
    let mut key_bytes = 0;

    // To the end, although a run has a refused entry: the first of the source may be in another.
    for run in EntryRuns::all() {
        let sorted = entries.read(run, rule)?;
        lengths = sorted.lengths().fold(lengths, Lengths::and);
        duplicates += sorted.duplicates;
        key_bytes += sorted.key_bytes();
        for pair in sorted.pairs() {
            resolved.add(run, &pair)?;
        }
        entries.free(run);

        refused = [refused, sorted.refused]
            .into_iter()
            .flatten()
            .min_by_key(|refused: &Refused| refused.line);
        progress.advance(1);
    }

    if let Some(Refused { first, line }) = refused {
        return Err(Error::RepeatedKey { first, line });
    }
    Ok(Summary {
        lengths: lengths.ok_or(CoreError::EmptyDatabase)?,
        duplicates,
        key_bytes,
    })
}

/// The bytes of storage that resolving takes besides the entries.
fn room_to_resolve(entries: &EntryRuns) -> u64 {
    let bytes = entries.lengths().as_ref().map_or(0, resolved_bytes);
    // Where runs are freed, a run takes the space of the one that it is made of.
    if entries.frees() {
        bytes / RUNS as u64
    } else {
        bytes
    }
}

/// The bytes of storage that items and buckets take besides the entries.
fn room_to_place(entries: &ResolvedRuns, lengths: &Lengths) -> u64 {
    let freed = if entries.frees() {
        resolved_bytes(lengths)
    } else {
        0
    };
    let needed = lengths.count * ITEM_BYTES + 2 * lengths.total;
    needed.saturating_sub(freed)
}

/// The bytes in storage of entries without duplicates.
fn resolved_bytes(lengths: &Lengths) -> u64 {
    lengths.count * ENTRY_BYTES + lengths.total
}

/// The source of the items of a try.
enum ItemSource {
    /// The entries, for the first one.
    Resolved(ResolvedRuns),
    /// The items of the try before, under another seed.
    Items(ItemRuns),
}

impl ItemSource {
    /// Writes the items of all entries to storage. Frees the source, which they replace.
    fn hashed(
        self,
        hashing: Hashing,
        count: u64,
        storage: &mut dyn Storage,
        progress: &dyn Progress,
    ) -> Result<ItemRuns> {
        progress.stage("hashing keys", count);
        match self {
            Self::Resolved(entries) => {
                let items = ItemRuns::new(hashing, storage)?;
                spill(entries, items, hashing, progress)
            }
            Self::Items(items) => items.hashed_again(hashing.seeds, storage, progress),
        }
    }
}

/// Adds the items of all entries to `items`.
fn spill(
    mut entries: ResolvedRuns,
    mut items: ItemRuns,
    hashing: Hashing,
    progress: &dyn Progress,
) -> Result<ItemRuns> {
    let mut first = 0u32;

    // Runs ascend by id, and so do the numbers of the entries.
    for run in EntryRuns::all() {
        let resolved = entries.read(run)?;
        let chunks: Vec<Item> = resolved
            .pairs()
            .enumerate()
            .flat_map_iter(|(number, pair)| {
                let Hashing { seeds, format } = &hashing;
                items_of(first + number as u32, &pair, format, seeds)
            })
            .collect();
        for item in &chunks {
            let number = (item.entry - first) as usize;
            items.add(resolved.id(number), item, resolved.value(number))?;
        }

        // The items have its ids and values now.
        entries.free(run);
        // The plan allows 2³² entries: the number wraps only after the last of them.
        first = first.wrapping_add(resolved.len() as u32);
        progress.advance(resolved.len() as u64);
    }
    Ok(items)
}
