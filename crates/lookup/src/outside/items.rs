//! Items and their entries, in runs by region.
//!
//! The hash that chooses the region of an item also chooses its run. In storage, an item has its
//! hash and, in as few bytes as they need, the difference of its entry's number from that of the
//! item before it in its run, the number of its chunk, and its length.

use super::varint::{self, Varint};
use super::{RUNS, Runs, Storage, end_of, run_of};
use crate::bucket::EntryFormat;
use crate::error::Result;
use crate::grid::Grid;
use crate::hash::KeyHash;
use crate::items::{EachWindow, Item, Items, Purpose, Window};
use crate::weights::Weights;

/// All items of a table, in storage.
pub(super) struct ItemRuns {
    items: Box<dyn Runs>,
    /// The entries of the items, as buckets hold them, in the same order.
    entries: Box<dyn Runs>,
    /// The entry that is being added.
    entry: Vec<u8>,
    /// The number of the entry of the last item of each run.
    numbers: Vec<u32>,
    pub(super) weights: Weights,
}

impl ItemRuns {
    pub(super) fn new(storage: &mut dyn Storage) -> Result<Self> {
        let items = storage.runs("items")?;
        let entries = storage.runs("chunks")?;
        Ok(Self {
            items,
            entries,
            entry: Vec::new(),
            numbers: vec![0; RUNS],
            weights: Weights::default(),
        })
    }

    /// Adds an item of a value.
    pub(super) fn add(&mut self, item: &Item, value: &[u8], format: &EntryFormat) -> Result<()> {
        let run = run_of(item.hash.pilot_hash);
        let KeyHash {
            tag,
            pilot_hash,
            bucket_hash,
        } = item.hash;
        let hash = [tag, pilot_hash, bucket_hash].map(u64::to_le_bytes);
        // Entries come in order, so that the difference is small.
        let step = item.entry.wrapping_sub(self.numbers[run]);
        self.numbers[run] = item.entry;

        let step = Varint::of(step.into());
        let chunk = Varint::of(item.chunk.into());
        let bytes = Varint::of(item.bytes.into());
        let fields = [
            hash.as_flattened(),
            step.as_bytes(),
            chunk.as_bytes(),
            bytes.as_bytes(),
        ];
        self.items.append(run, &fields)?;

        // The value is in memory only now, so its entry goes to storage as a bucket will hold it.
        self.entry.resize(item.bytes as usize, 0);
        format.write(&mut self.entry, tag, format.rest(value, item.chunk));
        self.entries.append(run, &[&self.entry])?;

        self.weights.add(item);
        Ok(())
    }

    /// Appends a run to the items that are loaded.
    fn load(&mut self, run: usize, purpose: Purpose, loaded: &mut Loaded) -> Result<()> {
        let mut bytes = Vec::new();
        self.items.read(run, &mut bytes)?;

        // Entries have no places of their own in storage: they follow each other like their items.
        let mut place = 0;
        let mut entry = 0u32;
        let mut at = 0;
        while at < bytes.len() {
            let hash = KeyHash {
                tag: word(&bytes, &mut at)?,
                pilot_hash: word(&bytes, &mut at)?,
                bucket_hash: word(&bytes, &mut at)?,
            };
            entry = entry.wrapping_add(varint::read(&bytes, &mut at)? as u32);
            let chunk = varint::read(&bytes, &mut at)? as u32;
            let length = varint::read(&bytes, &mut at)? as u32;

            loaded.items.push(Item {
                hash,
                entry,
                chunk,
                bytes: length,
            });
            if purpose == Purpose::Write {
                loaded.places.push(Place {
                    run: run as u32,
                    at: place,
                });
            }
            place += u64::from(length);
        }
        Ok(())
    }
}

/// Reads a word of a hash at the place `at` of a run, and moves the place behind it.
fn word(run: &[u8], at: &mut usize) -> Result<u64> {
    let bytes = run.get(*at..).and_then(|rest| rest.first_chunk());
    let bytes = *bytes.ok_or_else(varint::torn)?;
    *at += size_of::<u64>();
    Ok(u64::from_le_bytes(bytes))
}

impl Items for ItemRuns {
    /// The last region of a run may continue in the next one. Its items wait for that.
    fn each_window(
        &mut self,
        grid: Grid,
        purpose: Purpose,
        each: &mut EachWindow<'_>,
    ) -> Result<bool> {
        if purpose == Purpose::Write {
            self.entries.seal()?;
        }

        let mut waiting = Loaded::default();
        let mut first = 0;
        for run in 0..RUNS {
            self.load(run, purpose, &mut waiting)?;
            let end = end_of(run).map_or(grid.regions, |hash| grid.region(hash));
            // All items so far are in one region, which goes on in the next run.
            if end <= first {
                continue;
            }

            let window = Whole {
                loaded: waiting.split_below(grid, end),
                entries: self.entries.as_ref(),
            };
            if !each(first..end, &window)? {
                return Ok(false);
            }
            first = end;
        }
        Ok(true)
    }
}

/// The place of an entry in storage.
#[derive(Clone, Copy)]
struct Place {
    run: u32,
    at: u64,
}

/// Items in memory. Items loaded for placement have no places.
#[derive(Default)]
struct Loaded {
    items: Vec<Item>,
    places: Vec<Place>,
}

impl Loaded {
    /// Takes out the items of regions before `end`.
    fn split_below(&mut self, grid: Grid, end: u32) -> Self {
        let all = std::mem::take(self);
        let mut below = Self::default();
        for (number, item) in all.items.into_iter().enumerate() {
            let part = if grid.region(item.hash.pilot_hash) < end {
                &mut below
            } else {
                &mut *self
            };
            part.items.push(item);
            // None for items without places.
            part.places.extend(all.places.get(number));
        }
        below
    }
}

/// All items of consecutive regions.
struct Whole<'a> {
    loaded: Loaded,
    entries: &'a dyn Runs,
}

impl Window for Whole<'_> {
    fn items(&self) -> &[Item] {
        &self.loaded.items
    }

    fn write(&self, number: u32, free: &mut [u8]) {
        let item = &self.loaded.items[number as usize];
        let place = self.loaded.places[number as usize];
        let entry = &mut free[..item.bytes as usize];
        self.entries.copy(place.run as usize, place.at, entry);
    }
}
