//! Eviction of keys from buckets that overflow.
//!
//! The keys of a pilot form a group. If no pilot value has room for the whole group, the value with
//! the fewest overflows is used. In each full bucket, the smallest other group is then evicted, to
//! be placed again in turn (as in cuckoo hashing; Pagh and Rodler, 2004, here with groups in place
//! of keys).

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use papir_core::Progress;

use super::cache::{BucketCache, Put, missing};
use super::outcome::{PatchStep, RebuildReason};
use crate::error::Result;
use crate::hash::KeyHash;
use crate::ids::KeyIds;
use crate::layout::KeywordLayout;
use crate::placement::{Piece, Region};

/// An entry whose bucket is full.
pub(super) struct Overflow {
    pub(super) hash: KeyHash,
    /// The bytes of the entry.
    pub(super) entry: Vec<u8>,
    /// The line of the change that inserts the entry.
    pub(super) line: u64,
}

/// A possible chunk of a key's value. The value may be too short to have it.
struct Member {
    hash: KeyHash,
    /// Number of the chunk in the value.
    chunk: u32,
}

/// The place of a possible chunk in the groups, sorted by the tag of its entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TagOwner {
    /// The stored tag.
    tag: u64,
    /// The pilot of the chunk's group.
    slot: u32,
    /// The chunk's index in the group.
    member: u32,
}

/// A chunk whose entry is in no bucket.
struct Loose {
    hash: KeyHash,
    /// Length of the chunk's entry in bytes.
    bytes: u32,
}

/// Number of groups that are placed per overflowing group before the table counts as full.
const MOVES: usize = 32;

/// Finds other pilot values for the groups of the overflowing entries. `ids` are the ids after the
/// changes. Returns the number of pilots that changed, or the reason for a rebuild.
pub(super) fn place(
    layout: &mut KeywordLayout,
    cache: &mut BucketCache<'_>,
    ids: &KeyIds,
    overflows: Vec<Overflow>,
    progress: &dyn Progress,
) -> Result<PatchStep<u64>> {
    let Some(line) = overflows.first().map(|entry| entry.line) else {
        return Ok(PatchStep::Done(0));
    };
    let mut eviction = Eviction::new(layout, cache, ids, overflows, progress);
    if !eviction.can_fit()? {
        return Ok(PatchStep::Rebuild(RebuildReason::Full { line }));
    }

    progress.stage("placing keys", eviction.queue.len() as u64);
    let most = MOVES * (eviction.queue.len() + 1);
    let mut moved = BTreeSet::new();

    // Bounded: groups of a region that is almost full can evict each other without an end.
    for turn in 0..most {
        let Some(slot) = eviction.queue.pop_front() else {
            if eviction.loose.is_empty() {
                return Ok(PatchStep::Done(moved.len() as u64));
            }
            return Err(missing().into());
        };
        match eviction.place(slot, turn)? {
            Put::Done => moved.insert(slot),
            Put::Full => return Ok(PatchStep::Rebuild(RebuildReason::Full { line })),
            Put::TagTaken => return Ok(PatchStep::Rebuild(RebuildReason::Tag { line })),
        };
        progress.advance(1);
    }

    Ok(PatchStep::Rebuild(RebuildReason::Full { line }))
}

/// The state of an eviction: the groups of keys that are being placed again.
struct Eviction<'a, 't> {
    layout: &'a mut KeywordLayout,
    cache: &'a mut BucketCache<'t>,
    /// All possible chunks in the affected regions, grouped by pilot.
    groups: BTreeMap<u32, Vec<Member>>,
    /// The places of all chunks of `groups`, ascending.
    owners: Vec<TagOwner>,
    /// Entries that are in no bucket, by their whole 64-bit tags.
    loose: HashMap<u64, Vec<u8>>,
    /// Pilots whose groups are still to be placed.
    queue: VecDeque<u32>,
}

impl<'a, 't> Eviction<'a, 't> {
    fn new(
        layout: &'a mut KeywordLayout,
        cache: &'a mut BucketCache<'t>,
        ids: &KeyIds,
        overflows: Vec<Overflow>,
        progress: &dyn Progress,
    ) -> Self {
        let slots: BTreeSet<u32> = overflows
            .iter()
            .map(|entry| layout.grid.pilot_slot(&entry.hash))
            .collect();
        let regions = slots.iter().map(|slot| slot / layout.grid.pilots).collect();

        // Any group of these regions may be evicted, so the chunks of all are needed.
        let groups = gather(layout, ids, &regions, progress);
        let mut owners = Vec::new();
        for (&slot, members) in &groups {
            for (member, Member { hash, .. }) in (0..).zip(members) {
                let tag = layout.dimensions.format.tag(hash.tag);
                owners.push(TagOwner { tag, slot, member });
            }
        }
        owners.sort_unstable();

        let loose = overflows
            .into_iter()
            .map(|entry| (entry.hash.tag, entry.entry))
            .collect();
        Self {
            layout,
            cache,
            groups,
            owners,
            loose,
            queue: slots.into_iter().collect(),
        }
    }

    /// Returns true if every affected region has enough bytes for its entries. No move of groups
    /// changes this.
    fn can_fit(&mut self) -> Result<bool> {
        let grid = self.layout.grid;
        let mut bytes: BTreeMap<u32, u64> = BTreeMap::new();
        let mut found = 0;
        for &slot in &self.queue {
            for entry in self.loose_of(slot) {
                *bytes.entry(slot / grid.pilots).or_default() += u64::from(entry.bytes);
                found += 1;
            }
        }
        // An entry of no id has no group, so that no pilot would place it.
        if found < self.loose.len() {
            return Err(missing().into());
        }

        let room = u64::from(grid.buckets) * u64::from(self.layout.dimensions.bucket_bytes);
        for (region, waiting) in bytes {
            let load: u64 = self.loads(region)?.into_iter().map(u64::from).sum();
            if waiting + load > room {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Places a group under a pilot value with room for it, or else under the value with the fewest
    /// overflows.
    fn place(&mut self, slot: u32, turn: usize) -> Result<Put> {
        // Before the pilot changes: its old value tells where the entries are.
        self.take_out(slot)?;
        let entries = self.loose_of(slot);
        let pieces: Vec<Piece> = entries.iter().map(piece).collect();

        // The loads are without the group's own entries, which are in no bucket now.
        let mut region = self.region(slot)?;
        let pilot = match region.first_pilot(&pieces, ALL_PILOTS) {
            Some(pilot) => pilot,
            None => region.fewest_overflows(&pieces, turn),
        };
        self.layout.pilots[slot as usize] = pilot;

        for entry in entries {
            let done = self.put(slot, &entry.hash)?;
            if done != Put::Done {
                return Ok(done);
            }
        }
        Ok(Put::Done)
    }

    /// Puts a loose entry into its bucket. Evicts other groups, the smallest first, until it fits.
    fn put(&mut self, slot: u32, hash: &KeyHash) -> Result<Put> {
        let bucket = self.layout.bucket_vartime(hash);
        let entry = self.loose.remove(&hash.tag).ok_or_else(missing)?;
        loop {
            let put = self.cache.put(bucket, hash, &entry)?;
            if put != Put::Full {
                return Ok(put);
            }

            let Some(smallest) = self.smallest_other(slot, bucket)? else {
                return Ok(Put::Full);
            };
            self.take_out(smallest)?;
            self.queue.push_back(smallest);
        }
    }

    /// The group with the fewest entries among the groups with an entry in a bucket; `None` if only
    /// the group `slot`, which is being placed, has one.
    fn smallest_other(&mut self, slot: u32, bucket: u64) -> Result<Option<u32>> {
        let tags = self.cache.tags(bucket)?;
        let others = tags
            .into_iter()
            .filter_map(|tag| self.owner(bucket, tag))
            .filter(|&other| other != slot);
        Ok(others.min_by_key(|other| self.groups.get(other).map_or(0, Vec::len)))
    }

    /// The group of the entry with a stored tag in a bucket; `None` if no id has such an entry.
    fn owner(&self, bucket: u64, tag: u64) -> Option<u32> {
        let first = self.owners.partition_point(|owner| owner.tag < tag);
        let equal = self.owners[first..]
            .iter()
            .take_while(|owner| owner.tag == tag);

        // Short tags are equal by chance in several buckets, but not for two entries of one: the
        // owner is the chunk that belongs to this bucket and is not waiting to be placed.
        for &TagOwner { slot, member, .. } in equal {
            let hash = &self.groups.get(&slot)?.get(member as usize)?.hash;
            let waits = self.loose.contains_key(&hash.tag);
            if !waits && self.layout.bucket_vartime(hash) == bucket {
                return Some(slot);
            }
        }
        None
    }

    /// Removes all entries of a group from their buckets.
    fn take_out(&mut self, slot: u32) -> Result<()> {
        let members = self
            .groups
            .get(&slot)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let buckets = members
            .iter()
            .map(|member| self.layout.bucket_vartime(&member.hash))
            .collect();
        // Together, since a prepared database decodes many records at once.
        self.cache.read(buckets)?;

        for Member { hash, chunk } in members {
            if self.loose.contains_key(&hash.tag) {
                continue;
            }
            match self.cache.take(self.layout.bucket_vartime(hash), hash)? {
                Some(entry) => self.loose.insert(hash.tag, entry),
                // Every key has a first chunk; further ones depend on the length of its value.
                None if *chunk == 0 => return Err(missing().into()),
                None => None,
            };
        }
        Ok(())
    }

    /// The loose entries of a group.
    fn loose_of(&self, slot: u32) -> Vec<Loose> {
        let mut loose = Vec::new();
        for member in self.groups.get(&slot).into_iter().flatten() {
            if let Some(entry) = self.loose.get(&member.hash.tag) {
                loose.push(Loose {
                    hash: member.hash,
                    bytes: entry.len() as u32,
                });
            }
        }
        loose
    }

    /// The region of a pilot with the current loads of its buckets.
    fn region(&mut self, slot: u32) -> Result<Region> {
        let grid = self.layout.grid;
        let loads = self.loads(slot / grid.pilots)?;
        Ok(Region::loaded(
            grid,
            self.layout.dimensions.bucket_bytes,
            loads,
        ))
    }

    /// Bytes in each bucket of a region.
    fn loads(&mut self, region: u32) -> Result<Vec<u32>> {
        let buckets = u64::from(self.layout.grid.buckets);
        let first = u64::from(region) * buckets;
        self.cache.loads(first..first + buckets)
    }
}

/// Number of pilot values: 16 bits.
const ALL_PILOTS: usize = 1 << 16;

/// The fields of a loose entry that the pilot search reads.
fn piece(loose: &Loose) -> Piece {
    // `Region::first_pilot` places a single group, so the number of its pilot is not used.
    Piece {
        pilot: 0,
        bytes: loose.bytes,
        bucket_hash: loose.hash.bucket_hash,
    }
}

/// Gathers all possible chunks in these regions, grouped by pilot. Hashes all ids.
fn gather(
    layout: &KeywordLayout,
    ids: &KeyIds,
    regions: &BTreeSet<u32>,
    progress: &dyn Progress,
) -> BTreeMap<u32, Vec<Member>> {
    const STEP: usize = 1 << 16;
    let mut groups: BTreeMap<u32, Vec<Member>> = BTreeMap::new();
    progress.stage("finding neighbours", ids.len() as u64);

    for part in ids.as_slice().chunks(STEP) {
        for id in part {
            for chunk in 0..layout.dimensions.lookups {
                let hash = layout.seeds.chunk(id, chunk);
                if regions.contains(&layout.grid.region(hash.pilot_hash)) {
                    let slot = layout.grid.pilot_slot(&hash);
                    groups.entry(slot).or_default().push(Member { hash, chunk });
                }
            }
        }
        progress.advance(part.len() as u64);
    }
    groups
}
