//! Arrangement of pairs of key ids and values in buckets.

use papir_core::{Error as CoreError, Progress, RecordBuffer, Shape};
use rand_core::CryptoRng;
use rayon::prelude::*;

use crate::bucket::EntryFormat;
use crate::dimensions::{Dimensions, Lengths};
use crate::entry::Pair;
use crate::error::{Error, Result};
use crate::fill::fill;
use crate::grid::Grid;
use crate::hash::{SEED_BYTES, Seeds, random_seed};
use crate::items::{EachWindow, Item, Items, Purpose, Window};
use crate::layout::KeywordLayout;
use crate::options::TableOptions;
use crate::placement::place_all;
use crate::weights::Weights;

/// Maximum number of placement seeds that are tried. Equal 64-bit tags in one region, or equal
/// short tags in one bucket, are so rare that few tables need a second seed.
pub(crate) const SEEDS: usize = 64;

/// Arranges pairs with distinct ids, ascending by id, under a fresh placement seed. `ids` is the
/// seed of the ids. Returns the layout and the buckets.
pub(crate) fn arrange(
    pairs: &[Pair],
    ids: [u8; SEED_BYTES],
    options: &TableOptions,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<(KeywordLayout, RecordBuffer)> {
    let lengths =
        Lengths::of(pairs.iter().map(|pair| pair.value.len())).ok_or(CoreError::EmptyDatabase)?;
    let plan = TablePlan::new(options, &lengths)?;
    let format = plan.dimensions.format;

    for _ in 0..SEEDS {
        progress.stage("hashing keys", pairs.len() as u64);
        let seeds = Seeds {
            ids,
            placement: random_seed(rng),
        };
        let items = chunk_items(pairs, &format, &seeds, progress);
        let weights = Weights::of(&items);
        let mut items = PairItems {
            pairs,
            items,
            format,
        };
        let layout = plan.place(&mut items, &weights, seeds, progress)?;

        // Equal tags show up only now: another seed then gives every key another tag.
        let shape = Shape::of_bytes(layout.records(), layout.record_bytes() as u64)?;
        let mut records = RecordBuffer::zeroed(shape);
        if fill(&mut items, &layout, records.packed_mut(), progress)? {
            return Ok((layout, records));
        }
    }
    Err(too_many(lengths.count))
}

/// The properties of a table that follow from its options and the lengths of its values.
pub(crate) struct TablePlan {
    pub(crate) dimensions: Dimensions,
    longest: u32,
    /// Free room in per cent.
    room: u32,
}

impl TablePlan {
    /// Plans a table. Refuses more than 2³² values, since entries have 32-bit numbers.
    pub(crate) fn new(options: &TableOptions, lengths: &Lengths) -> Result<Self> {
        let dimensions = Dimensions::choose(options.bucket, lengths)?;
        let last = lengths.count.saturating_sub(1);
        if last > u32::MAX.into() {
            let what = "the number of entries";
            return Err(CoreError::out_of_bounds(what, last, "below 2^32").into());
        }

        Ok(Self {
            dimensions,
            longest: lengths.longest as u32,
            room: options.room()?,
        })
    }

    /// Places items under these seeds, and returns the layout.
    pub(crate) fn place(
        &self,
        items: &mut dyn Items,
        weights: &Weights,
        seeds: Seeds,
        progress: &dyn Progress,
    ) -> Result<KeywordLayout> {
        let Self {
            dimensions,
            longest,
            room,
        } = *self;
        let (grid, pilots) = place_all(items, weights, &dimensions, room, progress)?;

        let layout = KeywordLayout {
            seeds,
            dimensions,
            longest,
            grid,
            pilots,
        };
        layout.check_reads()?;
        Ok(layout)
    }
}

/// The error for entries that no tried placement seed arranges.
pub(crate) fn too_many(entries: u64) -> Error {
    let expected = "few enough for the tags in a bucket to differ";
    CoreError::out_of_bounds("the number of entries", entries, expected).into()
}

/// The items of all chunks of the value of entry number `entry`.
pub(crate) fn items_of<'a>(
    entry: u32,
    pair: &Pair<&'a [u8]>,
    format: &'a EntryFormat,
    seeds: &'a Seeds,
) -> impl Iterator<Item = Item> + use<'a> {
    let id = pair.id;
    let length = pair.value.len();
    (0..format.chunks(length) as u32).map(move |chunk| {
        let remaining = length - chunk as usize * format.chunk_bytes as usize;
        Item {
            hash: seeds.chunk(&id, chunk),
            entry,
            chunk,
            bytes: format.entry_bytes(remaining) as u32,
        }
    })
}

/// The items of all pairs, in the order of pairs and chunks.
fn chunk_items(
    pairs: &[Pair],
    format: &EntryFormat,
    seeds: &Seeds,
    progress: &dyn Progress,
) -> Vec<Item> {
    const STEP: usize = 4096;
    let steps = pairs.par_chunks(STEP).enumerate();
    let items = steps.flat_map_iter(|(step, pairs)| {
        progress.advance(pairs.len() as u64);
        // A step knows the numbers of its entries, so steps may run in any order.
        let numbered = ((step * STEP) as u32..).zip(pairs);
        numbered.flat_map(|(entry, pair)| items_of(entry, &pair.borrowed(), format, seeds))
    });
    items.collect()
}

/// The items of pairs in memory, which form one window.
struct PairItems<'a> {
    pairs: &'a [Pair],
    items: Vec<Item>,
    format: EntryFormat,
}

impl Items for PairItems<'_> {
    fn each_window(
        &mut self,
        grid: Grid,
        _purpose: Purpose,
        each: &mut EachWindow<'_>,
    ) -> Result<bool> {
        each(0..grid.regions, self)
    }
}

impl Window for PairItems<'_> {
    fn items(&self) -> &[Item] {
        &self.items
    }

    fn order(&self, number: u32) -> (u128, u32) {
        let item = &self.items[number as usize];
        // Pairs ascend by id, and so do their numbers.
        (item.entry.into(), item.chunk)
    }

    fn write(&self, number: u32, free: &mut [u8]) {
        let item = &self.items[number as usize];
        let value = &self.pairs[item.entry as usize].value;
        let rest = self.format.rest(value, item.chunk);
        self.format.write(free, item.hash.tag, rest);
    }
}
