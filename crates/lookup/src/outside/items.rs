//! Items and their entries in storage, by region.
//!
//! The hash that chooses the region of an item also chooses its run. In storage, an item has the id
//! of its key, from which that hash is computed again, and, in as few bytes as they need, the
//! difference of its entry's number from that of the item before it in its run, the number of its
//! chunk, and its length. The ids in storage are needed anyway: a second seed hashes them again,
//! and the owner keeps them.

use papir_core::Progress;
use rayon::prelude::*;

use super::id_runs::IdRuns;
use super::varint::{self, Varint};
use super::{RUNS, Runs, Storage, end_of, run_of};
use crate::bucket::EntryFormat;
use crate::error::Result;
use crate::grid::Grid;
use crate::hash::Seeds;
use crate::ids::{ID_BYTES, KeyId};
use crate::items::{EachWindow, Item, Items, Purpose, Window};
use crate::weights::Weights;

/// Number of items that are hashed together: enough for all threads, and few beside the items of a
/// run.
const BATCH: usize = 1 << 14;

/// Bytes by which an item in storage may grow under another seed: its number is then the difference
/// from any other, and may take five bytes where it took one.
const MOST_GROWTH: u64 = 4;

/// Names of the runs of items and of their entries. Items that are hashed again are written to the
/// runs of the other names.
const NAMES: [[&str; 2]; 2] = [["items", "chunks"], ["items-again", "chunks-again"]];

/// The hashing of all chunks under a placement seed.
#[derive(Clone, Copy)]
pub(super) struct Hashing {
    pub(super) seeds: Seeds,
    pub(super) format: EntryFormat,
}

impl Hashing {
    /// The item of a stored one.
    fn item(&self, stored: &StoredItem) -> Item {
        Item {
            hash: self.seeds.chunk(&stored.id, stored.chunk),
            entry: stored.entry,
            chunk: stored.chunk,
            bytes: stored.bytes,
        }
    }
}

/// An item in storage.
struct StoredItem {
    id: KeyId,
    entry: u32,
    chunk: u32,
    bytes: u32,
}

/// Reads the items of a run.
struct StoredItems<'a> {
    run: &'a [u8],
    at: usize,
    /// The number of the entry of the last item.
    entry: u32,
}

impl<'a> StoredItems<'a> {
    fn new(run: &'a [u8]) -> Self {
        Self {
            run,
            at: 0,
            entry: 0,
        }
    }

    fn read(&mut self) -> Result<StoredItem> {
        let id = self.run.get(self.at..).and_then(|rest| rest.first_chunk());
        let id = KeyId(*id.ok_or_else(varint::torn)?);
        self.at += ID_BYTES;

        let step = varint::read(self.run, &mut self.at)? as u32;
        self.entry = self.entry.wrapping_add(step);
        let chunk = varint::read(self.run, &mut self.at)? as u32;
        let bytes = varint::read(self.run, &mut self.at)? as u32;
        Ok(StoredItem {
            id,
            entry: self.entry,
            chunk,
            bytes,
        })
    }
}

impl Iterator for StoredItems<'_> {
    type Item = Result<StoredItem>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.at < self.run.len()).then(|| self.read())
    }
}

/// All items of a table, in storage.
pub(super) struct ItemRuns {
    pub(super) hashing: Hashing,
    /// The number of their names in [`NAMES`].
    names: usize,
    items: Box<dyn Runs>,
    /// The entries of the items in the format of buckets, in the same order.
    entries: Box<dyn Runs>,
    /// A buffer for the entry that is being added.
    entry: Vec<u8>,
    /// For each run, the number of the entry of its last item.
    numbers: Vec<u32>,
    /// Bytes of all items and their entries.
    bytes: u64,
    pub(super) weights: Weights,
}

impl ItemRuns {
    pub(super) fn new(hashing: Hashing, storage: &mut dyn Storage) -> Result<Self> {
        Self::named(0, hashing, storage)
    }

    fn named(names: usize, hashing: Hashing, storage: &mut dyn Storage) -> Result<Self> {
        let [items, entries] = NAMES[names];
        Ok(Self {
            hashing,
            names,
            items: storage.runs(items)?,
            entries: storage.runs(entries)?,
            entry: Vec::new(),
            numbers: vec![0; RUNS],
            bytes: 0,
            weights: Weights::default(),
        })
    }

    /// Adds an item of a value. `id` is that of its key.
    pub(super) fn add(&mut self, id: &KeyId, item: &Item, value: &[u8]) -> Result<()> {
        let format = &self.hashing.format;

        // The value is in memory only now, so its entry goes to storage as a bucket will hold it.
        self.entry.resize(item.bytes as usize, 0);
        format.write(
            &mut self.entry,
            item.hash.tag,
            format.rest(value, item.chunk),
        );
        self.append(id, item)
    }

    /// Appends an item, whose entry is in [`Self::entry`].
    fn append(&mut self, id: &KeyId, item: &Item) -> Result<()> {
        let run = run_of(item.hash.pilot_hash);
        // Entries come in order, so that the difference is small.
        let step = item.entry.wrapping_sub(self.numbers[run]);
        self.numbers[run] = item.entry;

        let step = Varint::of(step.into());
        let chunk = Varint::of(item.chunk.into());
        let bytes = Varint::of(item.bytes.into());
        let fields = [
            &id.0[..],
            step.as_bytes(),
            chunk.as_bytes(),
            bytes.as_bytes(),
        ];
        self.items.append(run, &fields)?;
        self.entries.append(run, &[&self.entry])?;

        let length: usize = fields.iter().map(|field| field.len()).sum();
        self.bytes += (length + self.entry.len()) as u64;
        self.weights.add(item);
        Ok(())
    }

    /// The bytes of the items of a run.
    fn read(&mut self, run: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.items.read(run, &mut bytes)?;
        Ok(bytes)
    }

    /// Appends a run to the items that are loaded.
    fn load(&mut self, run: usize, purpose: Purpose, loaded: &mut Loaded) -> Result<()> {
        let bytes = self.read(run)?;
        let hashing = self.hashing;
        let mut stored = StoredItems::new(&bytes);
        let mut batch = Vec::with_capacity(BATCH);

        // Entries have no places of their own in storage: they follow each other like their items.
        let mut place = 0;
        loop {
            batch.clear();
            for item in stored.by_ref().take(BATCH) {
                batch.push(item?);
            }
            if batch.is_empty() {
                return Ok(());
            }

            for item in &batch {
                if purpose == Purpose::Write {
                    loaded.offsets.push(RunOffset {
                        run: run as u32,
                        at: place,
                    });
                }
                place += u64::from(item.bytes);
            }
            loaded
                .items
                .par_extend(batch.par_iter().map(|stored| hashing.item(stored)));
        }
    }

    /// The bytes of storage that [`Self::hashed_again`] takes besides these items, at most.
    fn room_to_hash_again(&self) -> u64 {
        let growth = MOST_GROWTH * self.weights.items;
        // Where runs are freed, a run takes the space of the one that it is made of.
        let copied = if self.items.frees() && self.entries.frees() {
            self.bytes / RUNS as u64
        } else {
            self.bytes
        };
        copied + growth
    }

    /// The same items under other seeds. Frees each run once its items are written again, so that
    /// both together take little more space than one. Asks for that space first: the room for the
    /// first try does not include it.
    pub(super) fn hashed_again(
        mut self,
        seeds: Seeds,
        storage: &mut dyn Storage,
        progress: &dyn Progress,
    ) -> Result<Self> {
        storage.check_room(self.room_to_hash_again())?;
        let hashing = Hashing {
            seeds,
            ..self.hashing
        };
        let mut next = Self::named(1 - self.names, hashing, storage)?;
        self.entries.seal()?;

        for run in 0..RUNS {
            let bytes = self.read(run)?;
            let mut place = 0;
            let mut entries = 0;

            for stored in StoredItems::new(&bytes) {
                let stored = stored?;
                let item = hashing.item(&stored);
                next.entry.resize(item.bytes as usize, 0);
                self.entries.copy(run, place, &mut next.entry);
                hashing.format.tag_again(&mut next.entry, item.hash.tag);

                place += u64::from(item.bytes);
                entries += u64::from(item.chunk == 0);
                next.append(&stored.id, &item)?;
            }

            self.items.free(run);
            self.entries.free(run);
            progress.advance(entries);
        }
        Ok(next)
    }

    /// The ids of all entries. Frees the items, whose entries are in their buckets by now.
    pub(super) fn into_ids(self, storage: &mut dyn Storage) -> Result<IdRuns> {
        let Self {
            mut items, entries, ..
        } = self;
        drop(entries);

        let mut ids = IdRuns::new(storage)?;
        for run in 0..RUNS {
            let mut bytes = Vec::new();
            items.read(run, &mut bytes)?;
            for stored in StoredItems::new(&bytes) {
                let stored = stored?;
                // Every value has a first chunk, an empty one as well.
                if stored.chunk == 0 {
                    ids.add(&stored.id)?;
                }
            }
            items.free(run);
        }
        Ok(ids)
    }
}

impl Items for ItemRuns {
    /// Reads run after run. The last region of a run may continue in the next run, so its items
    /// wait for that.
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

/// The place of an entry in storage: a run and an offset.
#[derive(Clone, Copy)]
struct RunOffset {
    run: u32,
    at: u64,
}

/// Items in memory, with the offsets of their entries. Items that were loaded for placement have no
/// offsets.
#[derive(Default)]
struct Loaded {
    items: Vec<Item>,
    offsets: Vec<RunOffset>,
}

impl Loaded {
    /// Removes the items of regions before `end`, and returns them.
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
            // None for items without offsets.
            part.offsets.extend(all.offsets.get(number));
        }
        below
    }
}

/// A window: all items of consecutive regions, and their entries in storage.
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
        let offset = self.loaded.offsets[number as usize];
        let entry = &mut free[..item.bytes as usize];
        self.entries.copy(offset.run as usize, offset.at, entry);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::{Error as CoreError, NoProgress, Result as CoreResult};

    use super::*;
    use crate::arrange::items_of;
    use crate::bucket::TAG_BYTES;
    use crate::entry::Pair;
    use crate::outside::HeapRuns;

    struct Heap;

    impl Storage for Heap {
        fn runs(&mut self, _kind: &'static str) -> CoreResult<Box<dyn Runs>> {
            Ok(Box::new(HeapRuns::default()))
        }
    }

    /// Storage in memory with this room.
    struct Limited(u64);

    impl Storage for Limited {
        fn runs(&mut self, kind: &'static str) -> CoreResult<Box<dyn Runs>> {
            Heap.runs(kind)
        }

        fn check_room(&self, bytes: u64) -> CoreResult<()> {
            if bytes <= self.0 {
                return Ok(());
            }
            Err(CoreError::malformed("the room", bytes, self.0))
        }
    }

    fn seeds(placement: u8) -> Seeds {
        Seeds {
            ids: [1; 32],
            placement: [placement; 32],
        }
    }

    fn id(entry: u32) -> KeyId {
        KeyId([entry as u8; ID_BYTES])
    }

    /// The items of 200 values of up to three chunks.
    fn items(placement: u8) -> ItemRuns {
        let format = EntryFormat {
            tag_bytes: TAG_BYTES,
            length_bytes: 1,
            chunk_bytes: 16,
        };
        let hashing = Hashing {
            seeds: seeds(placement),
            format,
        };

        let mut items = ItemRuns::new(hashing, &mut Heap).unwrap();
        for entry in 0..200 {
            let value = vec![entry as u8; entry as usize % 48];
            let pair = Pair {
                id: id(entry),
                value: &value[..],
            };
            for item in items_of(entry, &pair, &format, &hashing.seeds) {
                items.add(&pair.id, &item, &value).unwrap();
            }
        }
        items
    }

    /// All items in the order of their values, with their entries.
    fn contents(items: &mut ItemRuns) -> Vec<(Item, Vec<u8>)> {
        let mut all = Vec::new();
        items.entries.seal().unwrap();
        for run in 0..RUNS {
            let mut loaded = Loaded::default();
            items.load(run, Purpose::Write, &mut loaded).unwrap();
            for (item, offset) in loaded.items.into_iter().zip(loaded.offsets) {
                let mut entry = vec![0; item.bytes as usize];
                items.entries.copy(run, offset.at, &mut entry);
                all.push((item, entry));
            }
        }
        all.sort_by_key(|(item, _)| item.order());
        all
    }

    #[test]
    fn items_that_are_hashed_again_are_those_of_the_other_seeds() {
        let mut again = items(2);
        for placement in [3, 4] {
            again = again
                .hashed_again(seeds(placement), &mut Heap, &NoProgress)
                .unwrap();
            let mut expected = items(placement);
            assert_eq!(again.weights.items, expected.weights.items);

            let found = contents(&mut again);
            for (found, expected) in found.iter().zip(contents(&mut expected)) {
                assert_eq!(found.0.hash, expected.0.hash);
                assert_eq!(found.0.order(), expected.0.order());
                assert_eq!(found.1, expected.1);
            }
        }
    }

    #[test]
    fn room_is_asked_for_before_items_are_hashed_again() {
        let first = items(2);
        let room = first.room_to_hash_again();
        assert_eq!(room, first.bytes + MOST_GROWTH * first.weights.items);
        let refused = first.hashed_again(seeds(3), &mut Limited(room - 1), &NoProgress);
        assert!(refused.is_err());

        let again = items(2).hashed_again(seeds(3), &mut Limited(room), &NoProgress);
        assert!(again.unwrap().bytes <= room);
    }

    #[test]
    fn items_that_are_hashed_again_grow_within_their_bound() {
        let format = EntryFormat {
            tag_bytes: TAG_BYTES,
            length_bytes: 1,
            chunk_bytes: 16,
        };
        let hashing = Hashing {
            seeds: seeds(2),
            format,
        };

        let mut first = ItemRuns::new(hashing, &mut Heap).unwrap();
        for entry in 0..20_000u32 {
            let mut id = [0; ID_BYTES];
            id[..4].copy_from_slice(&entry.to_le_bytes());
            let pair = Pair {
                id: KeyId(id),
                value: &[][..],
            };
            for item in items_of(entry, &pair, &format, &hashing.seeds) {
                first.add(&pair.id, &item, pair.value).unwrap();
            }
        }

        let before = first.bytes;
        let most = before + MOST_GROWTH * first.weights.items;
        let again = first.hashed_again(seeds(3), &mut Heap, &NoProgress);
        let bytes = again.unwrap().bytes;
        assert!(before < bytes && bytes <= most, "{before}, {bytes}, {most}");
    }

    #[test]
    fn ids_are_those_of_all_entries_in_order() {
        let ids = items(2).into_ids(&mut Heap).unwrap();
        let mut bytes = vec![0; 200 * ID_BYTES];
        ids.write(&mut bytes).unwrap();
        assert_eq!(
            bytes,
            (0..200).flat_map(|entry| id(entry).0).collect::<Vec<_>>()
        );
    }
}
