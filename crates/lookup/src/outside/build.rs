//! Construction of tables from entries in storage.

use papir_core::scratch::Scratch;
use papir_core::{Blob, Error as CoreError, Progress, Shape};
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::items::ItemRuns;
use super::resolved::{ENTRY_BYTES, ResolvedRuns};
use super::rows::{EntryRuns, Refused};
use super::{RUNS, Storage};
use crate::arrange::{SEEDS, TablePlan, items_of, too_many};
use crate::bucket::{EntryFormat, LEAST_TAG_BYTES};
use crate::dimensions::Lengths;
use crate::error::Result;
use crate::fill::fill;
use crate::hash::{Seeds, random_seed};
use crate::ids::ID_BYTES;
use crate::items::Item;
use crate::layout::KeywordLayout;
use crate::options::{OnDuplicate, TableOptions};
use crate::table::TableReport;

/// A keyword table whose buckets and ids are outside memory.
pub struct SpilledTable {
    /// The public layout, with which clients find keys.
    pub layout: KeywordLayout,
    /// The buckets, packed records of the layout's length.
    pub buckets: Blob,
    /// The ids of the keys, as [`crate::KeyIds::encode`] gives them.
    pub ids: Blob,
    /// Sizes of the table.
    pub report: TableReport,
}

/// Bytes in storage of a value of one chunk besides the value, once as an item and once in its
/// bucket.
const ITEM_BYTES: u64 = 28 + 2 * LEAST_TAG_BYTES as u64;

/// Name of the part with the buckets.
pub const BUCKETS: &str = "buckets";
/// Name of the part with the ids.
pub const IDS: &str = "ids";

/// Arranges entries in a table. Runs and parts are in `place`. The result equals the result of
/// [`crate::build`] with the same random bytes.
///
/// # Errors
/// The errors of [`crate::build`] and of `place`.
pub fn build(
    entries: &mut EntryRuns,
    options: &TableOptions,
    place: &mut (impl Storage + Scratch),
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<SpilledTable> {
    if let Some(lengths) = entries.lengths() {
        place.check_room(lengths.count * ENTRY_BYTES + lengths.total)?;
    }
    let mut resolved = ResolvedRuns::new(place)?;
    let summary = resolve(entries, options.on_duplicate, &mut resolved, progress)?;
    // Keys and lines were for duplicates only.
    entries.clear();

    let count = summary.lengths.count;
    let plan = TablePlan::new(options, &summary.lengths)?;
    place.check_room(count * ITEM_BYTES + 2 * summary.lengths.total)?;

    for _ in 0..SEEDS {
        let seeds = Seeds {
            placement: random_seed(rng),
            ..entries.seeds
        };
        let hashing = Hashing {
            seeds,
            format: plan.dimensions.format,
        };
        let mut items = hashing.spill(&mut resolved, count, place, progress)?;
        let weights = items.weights;
        let layout = plan.place(&mut items, &weights, seeds, progress)?;

        // Equal tags show up only now: another seed then gives every key another tag.
        let shape = Shape::of_bytes(layout.records(), layout.record_bytes() as u64)?;
        // A try that fails leaves entries in its buckets, so the next one starts with new buckets.
        let mut buckets = place.zeroed(BUCKETS, shape.total_bytes() as usize)?;
        if !fill(&mut items, &layout, buckets.bytes_mut(), progress)? {
            continue;
        }

        let report = summary.report(&layout);
        let buckets = place.keep(BUCKETS, buckets)?;
        // Their space in storage is for the ids.
        drop(items);

        let mut ids = place.zeroed(IDS, count as usize * ID_BYTES)?;
        resolved.write_ids(ids.bytes_mut())?;
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

/// Statistics of the entries that are kept.
struct Summary {
    lengths: Lengths,
    duplicates: u64,
    key_bytes: u64,
}

impl Summary {
    /// The report of the table of these entries.
    fn report(&self, layout: &KeywordLayout) -> TableReport {
        TableReport {
            duplicates: self.duplicates,
            key_bytes: Some(self.key_bytes),
            ..TableReport::new(self.lengths.count, self.lengths.total, layout)
        }
    }
}

/// Sorts all runs, and adds their entries to `resolved`. Refuses an empty source, and the first
/// duplicate of a source if the rule does.
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
        refused = [refused, sorted.refused]
            .into_iter()
            .flatten()
            .min_by_key(|refused: &Refused| refused.line);
        progress.advance(1);
    }

    if let Some(refused) = refused {
        return Err(refused.error);
    }
    Ok(Summary {
        lengths: lengths.ok_or(CoreError::EmptyDatabase)?,
        duplicates,
        key_bytes,
    })
}

/// The hashing of all chunks under a placement seed.
struct Hashing {
    seeds: Seeds,
    format: EntryFormat,
}

impl Hashing {
    /// Writes the items of all entries to storage.
    fn spill(
        &self,
        entries: &mut ResolvedRuns,
        count: u64,
        storage: &mut dyn Storage,
        progress: &dyn Progress,
    ) -> Result<ItemRuns> {
        progress.stage("hashing keys", count);
        let mut items = ItemRuns::new(storage)?;
        let mut first = 0u32;

        // Runs ascend by id, and so do the numbers of the entries.
        for run in EntryRuns::all() {
            let entries = entries.read(run)?;
            let chunks: Vec<Item> = entries
                .pairs()
                .enumerate()
                .flat_map_iter(|(number, pair)| {
                    items_of(first + number as u32, &pair, &self.format, &self.seeds)
                })
                .collect();
            for item in &chunks {
                let value = entries.value((item.entry - first) as usize);
                items.add(item, value, &self.format)?;
            }

            // The plan allows 2³² entries: the number wraps only after the last of them.
            first = first.wrapping_add(entries.len() as u32);
            progress.advance(entries.len() as u64);
        }
        Ok(items)
    }
}
