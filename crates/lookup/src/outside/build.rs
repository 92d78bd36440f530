//! Construction of keyword tables from entries in storage.

use papir_core::scratch::Scratch;
use papir_core::{Blob, Error as CoreError, Progress, Shape};
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::items::{Hashing, ItemRuns};
use super::rows::{EntryRuns, Refused};
use super::{RUNS, Storage};
use crate::arrange::{SEEDS, TablePlan, items_of, too_many};
use crate::bucket::EntryFormat;
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
    let rule = options.on_duplicate;
    if rule == OnDuplicate::Refuse {
        // Every row is a key, or the build fails: a disk that is too small is found here.
        check_room_of_all(entries, options, place)?;
    }

    let summary = resolve(entries, rule, progress)?;
    let count = summary.lengths.count;
    let plan = TablePlan::new(options, &summary.lengths)?;
    let needed = room_to_place(entries, &summary.lengths, &plan.dimensions.format);
    place.check_room(needed)?;

    let id_seeds = entries.seeds;
    let mut source = ItemSource::Entries(entries, rule);
    for _ in 0..SEEDS {
        let seeds = Seeds {
            placement: random_seed(rng),
            ..id_seeds
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

        // Written as their runs are freed: a part of zeros would take its space beside them.
        let mut sorted = items.into_ids(place)?;
        let ids = place.keep_written(IDS, &mut |out| sorted.write(out))?;
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

/// Sorts all runs, to count their entries without duplicates. Refuses an empty source and, if the
/// rule says so, the first duplicate of the source.
fn resolve(entries: &mut EntryRuns, rule: OnDuplicate, progress: &dyn Progress) -> Result<Summary> {
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

/// Asks for the room of a table of all entries.
fn check_room_of_all(
    entries: &EntryRuns,
    options: &TableOptions,
    place: &impl Storage,
) -> Result<()> {
    let Some(lengths) = entries.lengths() else {
        return Ok(());
    };
    // Options that allow no table are refused later, after a duplicate.
    let Ok(plan) = TablePlan::new(options, &lengths) else {
        return Ok(());
    };
    let needed = room_to_place(entries, &lengths, &plan.dimensions.format);
    Ok(place.check_room(needed)?)
}

/// The bytes of storage that items and buckets of values of these lengths take besides the entries,
/// at least.
fn room_to_place(entries: &EntryRuns, lengths: &Lengths, format: &EntryFormat) -> u64 {
    // A value is stored once as an item, with two numbers if values differ, and once in its bucket.
    let numbers = if format.uniform() { 0 } else { 2 };
    let of_key = ID_BYTES + numbers + format.header_bytes();
    let needed = lengths.count * of_key as u64 + 2 * lengths.total;
    // Items and buckets take the space of runs that are freed.
    needed.saturating_sub(entries.freed_bytes())
}

/// The source of the items of a try.
enum ItemSource<'a> {
    /// The entries, for the first one, and the rule for duplicates.
    Entries(&'a mut EntryRuns, OnDuplicate),
    /// The items of the try before, under another seed.
    Items(ItemRuns),
}

impl ItemSource<'_> {
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
            Self::Entries(entries, rule) => {
                let mut items = ItemRuns::new(hashing, storage)?;
                spill(entries, rule, &mut items, progress)?;
                entries.clear();
                Ok(items)
            }
            Self::Items(items) => items.hashed_again(hashing.seeds, storage, progress),
        }
    }
}

/// Adds the items of all entries to `items`. Sorts each run a second time: sorted runs in storage
/// would be as long as the rows.
fn spill(
    entries: &mut EntryRuns,
    rule: OnDuplicate,
    items: &mut ItemRuns,
    progress: &dyn Progress,
) -> Result<()> {
    let Hashing { seeds, format } = items.hashing;
    for run in EntryRuns::all() {
        let sorted = entries.read(run, rule)?;
        let chunks: Vec<Item> = sorted
            .pairs()
            .enumerate()
            .flat_map_iter(|(number, pair)| items_of(number as u32, &pair, &format, &seeds))
            .collect();
        for item in &chunks {
            let pair = sorted.pair(item.entry as usize);
            items.add(&pair.id, item, pair.value)?;
        }

        // The items have its ids and values now.
        entries.free(run);
        progress.advance(sorted.len() as u64);
    }
    Ok(())
}
