//! Pilots whose keys do not fit any more: their keys are placed again under another pilot.
//!
//! Where no pilot has room for all of them, the one with the fewest full buckets is taken, and from each
//! of these the smallest other group of keys gives way, to be placed again itself (as in cuckoo hashing;
//! Pagh and Rodler, 2004, here with groups in place of keys).

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use papir_core::Progress;

use super::RebuildReason;
use super::drawers::{Drawers, Put, missing};
use crate::Result;
use crate::hash::KeyHash;
use crate::ids::KeyIds;
use crate::layout::KeywordLayout;
use crate::place::{Piece, Region};

/// An entry whose bucket is full.
pub(super) struct Waiting {
    pub(super) hash: KeyHash,
    /// As it stands in a bucket.
    pub(super) entry: Vec<u8>,
    /// Where its change stands.
    pub(super) line: u64,
}

/// A chunk that some key may have: its place, and its number.
type Member = (KeyHash, u32);

/// Pilots that are placed for each that is crowded, before the table is given up.
const MOVES: usize = 32;

/// Finds other pilots for the keys that wait and all that share a pilot with them. `ids` are those
/// after the changes. Gives how many pilots changed.
///
/// # Errors
/// As [`super::patch()`].
pub(super) fn place(
    layout: &mut KeywordLayout,
    drawers: &mut Drawers<'_>,
    ids: &KeyIds,
    waiting: Vec<Waiting>,
    progress: &dyn Progress,
) -> Result<std::result::Result<u64, RebuildReason>> {
    let Some(line) = waiting.first().map(|entry| entry.line) else {
        return Ok(Ok(0));
    };
    let mut removal = Removal::new(layout, drawers, ids, waiting, progress);
    if !removal.could_fit()? {
        return Ok(Err(RebuildReason::Full { line }));
    }
    progress.stage("placing keys", removal.queue.len() as u64);
    let most = MOVES * (removal.queue.len() + 1);
    let mut moved = BTreeSet::new();
    for turn in 0..most {
        let Some(slot) = removal.queue.pop_front() else {
            let settled = removal.loose.is_empty();
            return if settled { Ok(Ok(moved.len() as u64)) } else { Err(missing().into()) };
        };
        match removal.place(slot, turn)? {
            Put::Done => moved.insert(slot),
            Put::Full => return Ok(Err(RebuildReason::Full { line })),
            Put::TagTaken => return Ok(Err(RebuildReason::Tag { line })),
        };
        progress.advance(1);
    }
    Ok(Err(RebuildReason::Full { line }))
}

/// Groups of keys on the move.
struct Removal<'a, 't> {
    layout: &'a mut KeywordLayout,
    drawers: &'a mut Drawers<'t>,
    /// All chunks that may stand in the regions concerned, by their pilot.
    groups: BTreeMap<u32, Vec<Member>>,
    /// The pilot of each chunk, by its tag.
    owners: HashMap<u64, u32>,
    /// Entries that are in no bucket, by their tag.
    loose: HashMap<u64, Vec<u8>>,
    /// Pilots whose groups are to be placed.
    queue: VecDeque<u32>,
}

impl<'a, 't> Removal<'a, 't> {
    fn new(
        layout: &'a mut KeywordLayout,
        drawers: &'a mut Drawers<'t>,
        ids: &KeyIds,
        waiting: Vec<Waiting>,
        progress: &dyn Progress,
    ) -> Self {
        let slots: BTreeSet<u32> = waiting.iter().map(|entry| layout.grid.pilot_slot(&entry.hash)).collect();
        let regions = slots.iter().map(|slot| slot / layout.grid.pilots).collect();
        let groups = gather(layout, ids, &regions, progress);
        let tags = |(slot, members): (&u32, &Vec<Member>)| {
            let slot = *slot;
            members.iter().map(move |(hash, _)| (hash.tag, slot)).collect::<Vec<_>>()
        };
        let owners = groups.iter().flat_map(tags).collect();
        let loose = waiting.into_iter().map(|entry| (entry.hash.tag, entry.entry)).collect();
        Self { layout, drawers, groups, owners, loose, queue: slots.into_iter().collect() }
    }

    /// Whether no region has more bytes than its buckets: moving groups does not change that.
    fn could_fit(&mut self) -> Result<bool> {
        let grid = self.layout.grid;
        let mut bytes: BTreeMap<u32, u64> = BTreeMap::new();
        for (tag, entry) in &self.loose {
            let slot = self.owners.get(tag).ok_or_else(missing)?;
            *bytes.entry(slot / grid.pilots).or_default() += entry.len() as u64;
        }
        let room = u64::from(grid.buckets) * u64::from(self.layout.dimensions.bucket_bytes);
        for (region, waiting) in bytes {
            if waiting + self.loads(region)?.into_iter().map(u64::from).sum::<u64>() > room {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Places a group: under a pilot that has room, or else where the fewest others are in the way.
    fn place(&mut self, slot: u32, turn: usize) -> Result<Put> {
        self.take_out(slot)?;
        let entries = self.entries(slot);
        let pieces: Vec<Piece> = entries.iter().map(|(hash, bytes)| piece(hash, *bytes)).collect();
        let mut region = self.region(slot)?;
        let pilot = match region.first_pilot(&pieces, ALL_PILOTS) {
            Some(pilot) => pilot,
            None => region.least_crowded(&pieces, turn),
        };
        self.layout.pilots[slot as usize] = pilot;
        for (hash, _) in entries {
            let done = self.put(slot, &hash)?;
            if done != Put::Done {
                return Ok(done);
            }
        }
        Ok(Put::Done)
    }

    /// Puts a loose entry into its bucket, where smaller groups give way if they must.
    fn put(&mut self, slot: u32, hash: &KeyHash) -> Result<Put> {
        let bucket = self.layout.bucket_vartime(hash);
        let entry = self.loose.remove(&hash.tag).ok_or_else(missing)?;
        loop {
            let put = self.drawers.put(bucket, hash, &entry)?;
            if put != Put::Full {
                return Ok(put);
            }
            let tags = self.drawers.tags(bucket)?;
            let others = tags.iter().filter_map(|tag| self.owners.get(tag)).filter(|&&other| other != slot);
            let Some(&smallest) = others.min_by_key(|other| self.groups.get(other).map_or(0, Vec::len))
            else {
                return Ok(Put::Full);
            };
            self.take_out(smallest)?;
            self.queue.push_back(smallest);
        }
    }

    /// Takes all entries of a group out of their buckets.
    fn take_out(&mut self, slot: u32) -> Result<()> {
        let members = self.groups.get(&slot).map(Vec::as_slice).unwrap_or_default();
        self.drawers.open_all(members.iter().map(|(hash, _)| self.layout.bucket_vartime(hash)).collect())?;
        for (hash, chunk) in members {
            if self.loose.contains_key(&hash.tag) {
                continue;
            }
            match self.drawers.take(self.layout.bucket_vartime(hash), hash)? {
                Some(entry) => self.loose.insert(hash.tag, entry),
                // Every key has a first chunk, and further ones as its value is long.
                None if *chunk == 0 => return Err(missing().into()),
                None => None,
            };
        }
        Ok(())
    }

    /// The loose entries of a group, and their bytes.
    fn entries(&self, slot: u32) -> Vec<(KeyHash, u32)> {
        let members = self.groups.get(&slot).into_iter().flatten();
        let loose = |(hash, _): &Member| Some((*hash, self.loose.get(&hash.tag)?.len() as u32));
        members.filter_map(loose).collect()
    }

    /// The region of a pilot with what is in its buckets.
    fn region(&mut self, slot: u32) -> Result<Region> {
        let grid = self.layout.grid;
        let loads = self.loads(slot / grid.pilots)?;
        Ok(Region::loaded(grid, self.layout.dimensions.bucket_bytes, loads))
    }

    /// Bytes in each bucket of a region.
    fn loads(&mut self, region: u32) -> Result<Vec<u32>> {
        let buckets = u64::from(self.layout.grid.buckets);
        let first = u64::from(region) * buckets;
        self.drawers.open_all((first..first + buckets).collect())?;
        (first..first + buckets).map(|bucket| self.drawers.load(bucket)).collect()
    }
}

/// Pilots are numbers of 16 bits.
const ALL_PILOTS: usize = 1 << 16;

fn piece(hash: &KeyHash, bytes: u32) -> Piece {
    // Which pilot it is does not matter: there is one.
    Piece { pilot: 0, bytes, spot: hash.spot }
}

/// Every chunk that may stand in these regions, by its pilot: hashes all ids.
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
        for (id, chunk) in part.iter().flat_map(|id| (0..layout.dimensions.lookups).map(move |c| (id, c))) {
            let hash = layout.seeds.chunk(id, chunk);
            if regions.contains(&layout.grid.region(hash.place)) {
                groups.entry(layout.grid.pilot_slot(&hash)).or_default().push((hash, chunk));
            }
        }
        progress.advance(part.len() as u64);
    }
    groups
}
