//! Items and their payloads in storage, by region.
//!
//! The hash that chooses the region of an item also chooses its run. In storage, an item has the id
//! of its key, from which that hash is computed again, and, if values differ in length, the number
//! of its chunk and the length of its value from there on. The payload is stored apart, without the
//! tag, which is computed as well. An item then has no more bytes than two entries in buckets with
//! whole tags, so that items and buckets together take at most three times the buckets. The ids in
//! storage are needed anyway: a second seed hashes them again, and the owner keeps them.

use papir_core::Progress;
use rayon::prelude::*;

use super::id_runs::IdRuns;
use super::rows::read_id;
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

/// Names of the runs of items and of their payloads. Items that are hashed again are written to the
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
            entry: 0,
            chunk: stored.chunk,
            bytes: self.format.entry_bytes(stored.remaining as usize) as u32,
        }
    }
}

/// An item in storage.
struct StoredItem {
    id: KeyId,
    chunk: u32,
    /// Bytes of the value from this chunk on.
    remaining: u32,
}

impl StoredItem {
    /// Bytes of the chunk.
    fn payload_bytes(&self, format: &EntryFormat) -> u32 {
        self.remaining.min(format.chunk_bytes)
    }
}

/// Reads the items of a run.
struct StoredItems<'a> {
    run: &'a [u8],
    at: usize,
    format: EntryFormat,
}

impl<'a> StoredItems<'a> {
    fn new(run: &'a [u8], format: EntryFormat) -> Self {
        Self { run, at: 0, format }
    }

    fn read(&mut self) -> Result<StoredItem> {
        let mut item = StoredItem {
            id: read_id(self.run, &mut self.at)?,
            chunk: 0,
            remaining: self.format.chunk_bytes,
        };
        if !self.format.uniform() {
            item.chunk = varint::read(self.run, &mut self.at)? as u32;
            item.remaining = varint::read(self.run, &mut self.at)? as u32;
        }
        Ok(item)
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
    /// The bytes of the items' chunks, in the same order.
    payloads: Box<dyn Runs>,
    /// Bytes of all items and their payloads.
    bytes: u64,
    pub(super) weights: Weights,
}

impl ItemRuns {
    pub(super) fn new(hashing: Hashing, storage: &mut dyn Storage) -> Result<Self> {
        Self::named(0, hashing, storage)
    }

    fn named(names: usize, hashing: Hashing, storage: &mut dyn Storage) -> Result<Self> {
        let [items, payloads] = NAMES[names];
        Ok(Self {
            hashing,
            names,
            items: storage.runs(items)?,
            payloads: storage.runs(payloads)?,
            bytes: 0,
            weights: Weights::default(),
        })
    }

    /// Adds an item of a value. `id` is that of its key.
    pub(super) fn add(&mut self, id: &KeyId, item: &Item, value: &[u8]) -> Result<()> {
        let format = self.hashing.format;
        let rest = format.rest(value, item.chunk);
        let stored = StoredItem {
            id: *id,
            chunk: item.chunk,
            remaining: rest.len() as u32,
        };
        let payload = &rest[..stored.payload_bytes(&format) as usize];
        self.append(&stored, item, payload)
    }

    /// Appends an item and its payload.
    fn append(&mut self, stored: &StoredItem, item: &Item, payload: &[u8]) -> Result<()> {
        let run = run_of(item.hash.pilot_hash);
        let chunk = Varint::of(stored.chunk.into());
        let remaining = Varint::of(stored.remaining.into());
        let mut fields: [&[u8]; 3] = [&stored.id.0, &[], &[]];
        // Else the format states both.
        if !self.hashing.format.uniform() {
            fields[1] = chunk.as_bytes();
            fields[2] = remaining.as_bytes();
        }
        self.items.append(run, &fields)?;
        self.payloads.append(run, &[payload])?;

        let length: usize = fields.iter().map(|field| field.len()).sum();
        self.bytes += (length + payload.len()) as u64;
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
        let mut stored = StoredItems::new(&bytes, hashing.format);
        let mut batch = Vec::with_capacity(BATCH);
        loaded.reserve(bytes.len() / ID_BYTES, purpose);

        // Payloads have no places of their own in storage: they follow each other like their items.
        let mut place = 0;
        loop {
            batch.clear();
            for item in stored.by_ref().take(BATCH) {
                batch.push(item?);
            }
            if batch.is_empty() {
                return Ok(());
            }

            for stored in &batch {
                if purpose == Purpose::Write {
                    loaded.entries.push(EntrySource {
                        id: stored.id,
                        run: run as u32,
                        remaining: stored.remaining,
                        at: place,
                    });
                }
                place += u64::from(stored.payload_bytes(&hashing.format));
            }
            loaded
                .items
                .par_extend(batch.par_iter().map(|stored| hashing.item(stored)));
        }
    }

    /// The bytes of storage that [`Self::hashed_again`] takes besides these items: an item has the
    /// same length under all seeds.
    fn room_to_hash_again(&self) -> u64 {
        // Where runs are freed, a run takes the space of the one that it is made of.
        if self.items.frees() && self.payloads.frees() {
            self.bytes / RUNS as u64
        } else {
            self.bytes
        }
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
        self.payloads.seal()?;
        let mut payload = Vec::new();

        for run in 0..RUNS {
            let bytes = self.read(run)?;
            let mut place = 0;
            let mut entries = 0;

            for stored in StoredItems::new(&bytes, hashing.format) {
                let stored = stored?;
                let payload_bytes = stored.payload_bytes(&hashing.format);
                payload.resize(payload_bytes as usize, 0);
                self.payloads.copy(run, place, &mut payload);

                place += u64::from(payload_bytes);
                entries += u64::from(stored.chunk == 0);
                next.append(&stored, &hashing.item(&stored), &payload)?;
            }

            self.items.free(run);
            self.payloads.free(run);
            progress.advance(entries);
        }
        Ok(next)
    }

    /// The window of the items that are loaded.
    fn window(&self, loaded: Loaded) -> Whole<'_> {
        Whole {
            loaded,
            format: self.hashing.format,
            payloads: self.payloads.as_ref(),
        }
    }

    /// The ids of all entries. Frees the items, whose entries are in their buckets by now.
    pub(super) fn into_ids(self, storage: &mut dyn Storage) -> Result<IdRuns> {
        let Self {
            hashing,
            mut items,
            payloads,
            ..
        } = self;
        drop(payloads);

        let mut ids = IdRuns::new(storage)?;
        for run in 0..RUNS {
            let mut bytes = Vec::new();
            items.read(run, &mut bytes)?;
            for stored in StoredItems::new(&bytes, hashing.format) {
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
            self.payloads.seal()?;
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

            let window = self.window(waiting.split_below(grid, end));
            if !each(first..end, &window)? {
                return Ok(false);
            }
            first = end;
        }
        Ok(true)
    }
}

/// The source of an entry that is written to a bucket.
#[derive(Clone, Copy)]
struct EntrySource {
    id: KeyId,
    /// The run of the payload.
    run: u32,
    /// Bytes of the value from the item's chunk on.
    remaining: u32,
    /// The offset of the payload in its run.
    at: u64,
}

/// Items in memory, with the sources of their entries. Items that were loaded for placement have no
/// sources.
#[derive(Default)]
struct Loaded {
    items: Vec<Item>,
    entries: Vec<EntrySource>,
}

impl Loaded {
    /// Reserves the memory of at most `count` more items, so that it does not grow by doubling.
    fn reserve(&mut self, count: usize, purpose: Purpose) {
        self.items.reserve_exact(count);
        if purpose == Purpose::Write {
            self.entries.reserve_exact(count);
        }
    }

    /// Removes the items of regions before `end`, and returns them.
    fn split_below(&mut self, grid: Grid, end: u32) -> Self {
        let mut below = std::mem::take(self);
        let mut kept = 0;

        // In place: few of the items are in the last region of a run, and all of them take most of
        // the memory of a build.
        for number in 0..below.items.len() {
            let item = below.items[number];
            // None for items without sources.
            let entry = below.entries.get(number).copied();
            if grid.region(item.hash.pilot_hash) >= end {
                self.items.push(item);
                self.entries.extend(entry);
                continue;
            }

            below.items[kept] = item;
            if let Some(entry) = entry {
                below.entries[kept] = entry;
            }
            kept += 1;
        }

        below.items.truncate(kept);
        below.entries.truncate(kept);
        below
    }
}

/// A window: all items of consecutive regions, and their payloads in storage.
struct Whole<'a> {
    loaded: Loaded,
    format: EntryFormat,
    payloads: &'a dyn Runs,
}

impl Window for Whole<'_> {
    fn items(&self) -> &[Item] {
        &self.loaded.items
    }

    fn order(&self, number: u32) -> (u128, u32) {
        let number = number as usize;
        let id = self.loaded.entries[number].id;
        (u128::from_be_bytes(id.0), self.loaded.items[number].chunk)
    }

    fn write(&self, number: u32, free: &mut [u8]) {
        let item = &self.loaded.items[number as usize];
        let source = &self.loaded.entries[number as usize];
        let entry = &mut free[..item.bytes as usize];
        let remaining = source.remaining as usize;
        let payload = self.format.write_header(entry, item.hash.tag, remaining);
        self.payloads.copy(source.run as usize, source.at, payload);
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
    use crate::hash::KeyHash;
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
        items_of_length(placement, format, |entry| entry as usize % 48)
    }

    /// The items of 200 values of these lengths.
    fn items_of_length(
        placement: u8,
        format: EntryFormat,
        length: impl Fn(u32) -> usize,
    ) -> ItemRuns {
        let hashing = Hashing {
            seeds: seeds(placement),
            format,
        };

        let mut items = ItemRuns::new(hashing, &mut Heap).unwrap();
        for entry in 0..200 {
            let value = vec![entry as u8; length(entry)];
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

    /// The hashes of all items in the order of their values, with their entries.
    fn contents(items: &mut ItemRuns) -> Vec<((u128, u32), KeyHash, Vec<u8>)> {
        let mut all = Vec::new();
        items.payloads.seal().unwrap();
        for run in 0..RUNS {
            let mut loaded = Loaded::default();
            items.load(run, Purpose::Write, &mut loaded).unwrap();
            let window = items.window(loaded);
            for (number, item) in (0..).zip(window.items()) {
                let mut entry = vec![0; item.bytes as usize];
                window.write(number, &mut entry);
                all.push((window.order(number), item.hash, entry));
            }
        }
        all.sort_by_key(|(order, ..)| *order);
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
            assert_eq!(contents(&mut again), contents(&mut expected));
        }
    }

    #[test]
    fn room_is_asked_for_before_items_are_hashed_again() {
        let first = items(2);
        let room = first.room_to_hash_again();
        assert_eq!(room, first.bytes);
        let refused = first.hashed_again(seeds(3), &mut Limited(room - 1), &NoProgress);
        assert!(refused.is_err());

        let again = items(2).hashed_again(seeds(3), &mut Limited(room), &NoProgress);
        assert_eq!(again.unwrap().bytes, room);
    }

    #[test]
    fn items_of_equal_values_have_their_ids_only() {
        let format = EntryFormat {
            tag_bytes: TAG_BYTES,
            length_bytes: 0,
            chunk_bytes: 5,
        };
        let mut items = items_of_length(2, format, |_| 5);
        assert_eq!(items.bytes, 200 * (ID_BYTES as u64 + 5));

        for ((order, hash, entry), number) in contents(&mut items).into_iter().zip(0..) {
            let id = id(number);
            assert_eq!(order, (u128::from_be_bytes(id.0), 0));
            assert_eq!(entry, format.entry(hash.tag, &[number as u8; 5]));
        }
    }

    #[test]
    fn ids_are_those_of_all_entries_in_order() {
        let mut ids = items(2).into_ids(&mut Heap).unwrap();
        let mut bytes = Vec::new();
        ids.write(&mut bytes).unwrap();
        assert_eq!(
            bytes,
            (0..200).flat_map(|entry| id(entry).0).collect::<Vec<_>>()
        );
    }
}
