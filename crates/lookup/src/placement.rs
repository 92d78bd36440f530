//! Placement of items in buckets by a search for pilots.
//!
//! The search finds pilot values under which no bucket overflows. Regions are independent of each
//! other. Within a region, the items of one pilot are placed together, heaviest pilot first, each
//! under the first pilot value that overfills no bucket (Belazzougui, Botelho and Dietzfelbinger,
//! "Hash, displace, and compress", 2009, here with buckets for many items). If buckets have many
//! items, a region has 16 buckets and one pilot: a few bytes for thousands of keys. If they have
//! few items, the total of a small region varies too much. Regions are then large, and have a pilot
//! for every few keys.

use std::cmp::Reverse;
use std::ops::Range;

use papir_core::Progress;
use rayon::prelude::*;

use crate::dimensions::Dimensions;
use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::items::{Item, Items, Purpose};
use crate::weights::Weights;

/// Maximum number of buckets: regions and items have 32-bit numbers.
const MAX_BUCKETS: u64 = 1 << 32;

/// Finds the densest grid that fits all items, and then one with `room` per cent more buckets.
/// Returns the grid and its pilot values. Fails if a table of about four times the bytes of all
/// items is too small, or there are more than 2³² items.
pub(crate) fn place_all(
    items: &mut dyn Items,
    weights: &Weights,
    dimensions: &Dimensions,
    room: u32,
    progress: &dyn Progress,
) -> Result<(Grid, Vec<u16>)> {
    let capacity = dimensions.bucket_bytes;
    let least = weights.least(capacity);
    let (grid, pilots) = place_from(items, weights, least, capacity, progress)?;
    if room == 0 {
        return Ok((grid, pilots));
    }

    // The room is a share of the buckets that the items need, known only from the densest grid.
    let records = grid.records();
    let wider = records + (records * u64::from(room)).div_ceil(100);
    place_from(items, weights, wider, capacity, progress)
}

/// Finds the first grid of at least `first` buckets that fits all items.
fn place_from(
    items: &mut dyn Items,
    weights: &Weights,
    first: u64,
    capacity: u32,
    progress: &dyn Progress,
) -> Result<(Grid, Vec<u16>)> {
    let most = (first + 3 * weights.least(capacity) + 16).min(MAX_BUCKETS);
    let mut records = first;

    // Item numbers have 32 bits, so more items than that are refused as well.
    while records <= most && weights.items <= MAX_BUCKETS {
        let grid = weights.grid(records, capacity);
        if let Some(pilots) = search(items, grid, capacity, progress)? {
            return Ok((grid, pilots));
        }
        // A grid has whole regions and may exceed `records`: the next one has to exceed the grid.
        records = records.max(grid.records()) + (records / 128).max(1);
    }

    Err(Error::Placement {
        entries: weights.items,
        records,
        bucket_bytes: capacity.into(),
    })
}

/// Searches pilot values for all regions of a grid; `None` if the items of a region do not fit.
fn search(
    items: &mut dyn Items,
    grid: Grid,
    capacity: u32,
    progress: &dyn Progress,
) -> Result<Option<Vec<u16>>> {
    progress.stage("placing keys", grid.regions.into());
    let per_region = grid.pilots as usize;
    let mut pilots = vec![0u16; grid.pilot_count() as usize];

    let all = items.each_window(grid, Purpose::Place, &mut |regions, window| {
        let Some(groups) = Regions::group(window.items(), regions.clone(), grid, capacity) else {
            return Ok(false);
        };
        // Windows have consecutive regions, whose pilots are consecutive as well.
        let start = regions.start as usize * per_region;
        let end = regions.end as usize * per_region;
        let pilots = &mut pilots[start..end];
        Ok(groups.search(capacity, pilots, progress).is_some())
    })?;
    Ok(all.then_some(pilots))
}

/// Items grouped by region.
pub(crate) struct Regions<'a> {
    items: &'a [Item],
    grid: Grid,
    /// Item numbers by region. Region r, counted from the first, has those at
    /// `starts[r]..starts[r + 1]`.
    order: Vec<u32>,
    starts: Vec<usize>,
    /// Total bytes of the items of each region.
    bytes: Vec<u64>,
}

impl<'a> Regions<'a> {
    /// Groups items by region; `None` if the items of a region have more bytes than its buckets.
    pub(crate) fn group(
        items: &'a [Item],
        regions: Range<u32>,
        grid: Grid,
        capacity: u32,
    ) -> Option<Self> {
        let first = regions.start;
        let count = regions.len();
        let mut bytes = vec![0u64; count];
        let mut starts = vec![0usize; count + 1];

        let region = |item: &Item| (grid.region(item.hash.pilot_hash) - first) as usize;
        for item in items {
            bytes[region(item)] += u64::from(item.bytes);
            starts[region(item) + 1] += 1;
        }
        // No pilots help a region whose items have more bytes than its buckets.
        let room = u64::from(grid.buckets) * u64::from(capacity);
        if bytes.iter().any(|&bytes| bytes > room) {
            return None;
        }

        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let order = sorted_by(items, &starts, region);
        Some(Self {
            items,
            grid,
            order,
            starts,
            bytes,
        })
    }

    /// Numbers of the items of each region, in the order of regions.
    pub(crate) fn each(&self) -> impl Iterator<Item = &[u32]> {
        self.starts
            .windows(2)
            .map(|pair| &self.order[pair[0]..pair[1]])
    }

    /// Searches pilot values for all regions; `None` if the items of a region do not fit.
    fn search(&self, capacity: u32, pilots: &mut [u16], progress: &dyn Progress) -> Option<()> {
        let pilots = pilots.chunks_mut(self.grid.pilots as usize);
        let mut waiting = Vec::with_capacity(self.bytes.len());
        for ((items, &bytes), pilots) in self.each().zip(&self.bytes).zip(pilots) {
            waiting.push(OpenRegion {
                items,
                bytes,
                pilots,
            });
        }

        // Fullest first, so that a grid that is too small fails early.
        waiting.sort_unstable_by_key(|region| Reverse(region.bytes));
        waiting
            .into_par_iter()
            .map_init(
                || Region::new(self.grid, capacity),
                |region, waiting| {
                    let items = waiting.items.iter();
                    region.fill(items.map(|&i| &self.items[i as usize]));
                    region.place(waiting.pilots)?;
                    progress.advance(1);
                    Some(())
                },
            )
            .collect()
    }
}

/// A region whose pilot values are to be found.
struct OpenRegion<'a> {
    /// Numbers of the region's items.
    items: &'a [u32],
    /// Total bytes of the region's items.
    bytes: u64,
    pilots: &'a mut [u16],
}

/// Total bytes of all pieces of a group.
fn total_bytes(group: &[Piece]) -> u64 {
    group.iter().map(|piece| u64::from(piece.bytes)).sum()
}

/// Sorts item numbers by `class`. `starts` has the first position of each class in the result.
fn sorted_by(items: &[Item], starts: &[usize], class: impl Fn(&Item) -> usize) -> Vec<u32> {
    let mut next = starts.to_vec();
    let mut order = vec![0u32; items.len()];
    for (number, item) in (0u32..).zip(items) {
        let position = &mut next[class(item)];
        order[*position] = number;
        *position += 1;
    }
    order
}

/// The fields of an item that the pilot search reads.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    /// Index of the item's pilot in its region.
    pub(crate) pilot: u32,
    pub(crate) bytes: u32,
    pub(crate) bucket_hash: u64,
}

/// Overflowing pieces of a group, the worse kind first.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
struct Overflows {
    /// Pieces whose bucket is too small for the group's own pieces, so that no eviction helps.
    stuck: usize,
    /// Pieces whose bucket is too full.
    full: usize,
}

/// A region during the search of its pilots; reused for all regions.
pub(crate) struct Region {
    grid: Grid,
    capacity: u32,
    pieces: Vec<Piece>,
    /// Bytes used in each bucket.
    loads: Vec<u32>,
    /// Buckets to which the current pilot value has added bytes.
    touched: Vec<u32>,
}

impl Region {
    fn new(grid: Grid, capacity: u32) -> Self {
        Self::loaded(grid, capacity, vec![0; grid.buckets as usize])
    }

    /// A region whose buckets have `loads` bytes already, to place one more pilot's items.
    pub(crate) fn loaded(grid: Grid, capacity: u32, loads: Vec<u32>) -> Self {
        Self {
            grid,
            capacity,
            pieces: Vec::new(),
            loads,
            touched: Vec::new(),
        }
    }

    fn fill<'a>(&mut self, items: impl Iterator<Item = &'a Item>) {
        self.loads.fill(0);
        self.pieces.clear();
        self.pieces.extend(items.map(|item| Piece {
            pilot: self.grid.pilot(item.hash.pilot_hash),
            bytes: item.bytes,
            bucket_hash: item.hash.bucket_hash,
        }));
        // The groups of pilots are runs of the sorted pieces.
        self.pieces.sort_unstable_by_key(|piece| piece.pilot);
    }

    /// Searches values for all pilots of the region; `None` if its items do not fit.
    fn place(&mut self, pilots: &mut [u16]) -> Option<()> {
        // Taken out and put back, so that the next region uses their memory again.
        let pieces = std::mem::take(&mut self.pieces);
        let placed = self.place_pieces(&pieces, pilots);
        self.pieces = pieces;
        placed
    }

    /// Searches a value for the pilot of each group of pieces, heaviest group first. `pieces` are
    /// sorted by pilot. `None` if a group does not fit.
    fn place_pieces(&mut self, pieces: &[Piece], pilots: &mut [u16]) -> Option<()> {
        let mut groups: Vec<&[Piece]> = pieces.chunk_by(|a, b| a.pilot == b.pilot).collect();
        // The key is a sum over a group, so it is computed once for each.
        groups.sort_by_cached_key(|group| Reverse(total_bytes(group)));
        for group in groups {
            pilots[group[0].pilot as usize] = self.find_pilot(group)?;
        }
        Some(())
    }

    /// Like [`Region::first_pilot`], with fewer trials for larger groups, so that the search fails
    /// within a fraction of a second if a region does not fit.
    fn find_pilot(&mut self, group: &[Piece]) -> Option<u16> {
        const WORK: usize = 1 << 23;
        let trials = (WORK / group.len()).clamp(256, 1 << 16);
        self.first_pilot(group, trials)
    }

    /// Finds the first of `trials` pilot values under which the group fits, and adds the group's
    /// bytes to the loads; `None` if it fits under none.
    pub(crate) fn first_pilot(&mut self, group: &[Piece], trials: usize) -> Option<u16> {
        (0..=u16::MAX)
            .take(trials)
            .find(|&pilot| self.try_pilot(group, pilot))
    }

    /// Finds the pilot value, among 512, under which the fewest pieces of a group overflow their
    /// bucket. Each `turn` tries other values, so that two groups do not evict each other forever.
    pub(crate) fn fewest_overflows(&self, group: &[Piece], turn: usize) -> u16 {
        const TRIALS: usize = 512;
        let mut own = vec![0; self.loads.len()];
        (0..TRIALS)
            .map(|trial| (turn * TRIALS + trial) as u16)
            .min_by_key(|&pilot| self.overflows(group, pilot, &mut own))
            .unwrap_or_default()
    }

    /// Counts the pieces that overflow their bucket under a pilot value. `own` is zero for every
    /// bucket, before and after.
    fn overflows(&self, group: &[Piece], pilot: u16, own: &mut [u64]) -> Overflows {
        let capacity = u64::from(self.capacity);

        // Pieces of a group may meet in a bucket: each counts together with those before it.
        let mut overflows = Overflows::default();
        for piece in group {
            let bucket = self.grid.bucket(piece.bucket_hash, pilot) as usize;
            own[bucket] += u64::from(piece.bytes);
            overflows.stuck += usize::from(own[bucket] > capacity);
            overflows.full += usize::from(u64::from(self.loads[bucket]) + own[bucket] > capacity);
        }

        for piece in group {
            own[self.grid.bucket(piece.bucket_hash, pilot) as usize] = 0;
        }
        overflows
    }

    /// Adds the group's bytes to the loads under this pilot value, and returns true. If the group
    /// does not fit, leaves the loads unchanged and returns false.
    fn try_pilot(&mut self, group: &[Piece], pilot: u16) -> bool {
        self.touched.clear();
        for piece in group {
            let bucket = self.grid.bucket(piece.bucket_hash, pilot);
            let load = &mut self.loads[bucket as usize];
            if *load + piece.bytes > self.capacity {
                self.undo(group);
                return false;
            }
            *load += piece.bytes;
            self.touched.push(bucket);
        }
        true
    }

    /// Subtracts from the loads the bytes of the pieces that [`Region::try_pilot`] has added.
    fn undo(&mut self, group: &[Piece]) {
        // `touched` ends before the piece that did not fit, so only added pieces are taken out.
        for (&bucket, piece) in self.touched.iter().zip(group) {
            self.loads[bucket as usize] -= piece.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: Grid = Grid {
        regions: 1,
        buckets: 4,
        pilots: 1,
    };

    /// Two pieces that meet in a bucket under pilot 0.
    fn meeting(bytes: u32) -> [Piece; 2] {
        let piece = |bucket_hash| Piece {
            pilot: 0,
            bytes,
            bucket_hash,
        };
        let first = GRID.bucket(1, 0);
        let other = (2..).find(|&hash| GRID.bucket(hash, 0) == first);
        [piece(1), piece(other.unwrap_or_default())]
    }

    fn buckets(group: &[Piece], pilot: u16) -> Vec<u32> {
        group
            .iter()
            .map(|piece| GRID.bucket(piece.bucket_hash, pilot))
            .collect()
    }

    #[test]
    fn pieces_of_a_group_that_meet_overflow_together() {
        // Either piece fits any bucket alone, and no bucket has room for both.
        let group = meeting(4);
        assert_eq!(buckets(&group, 0)[0], buckets(&group, 0)[1]);

        let region = Region::loaded(GRID, 10, vec![4; 4]);
        let pilot = region.fewest_overflows(&group, 0);
        assert_ne!(buckets(&group, pilot)[0], buckets(&group, pilot)[1]);
    }

    #[test]
    fn a_group_stays_apart_where_no_eviction_makes_room() {
        // One bucket is empty. Both pieces together would overflow it whatever is evicted, while
        // full buckets can be emptied.
        let group = meeting(6);
        let mut loads = vec![10; 4];
        loads[buckets(&group, 0)[0] as usize] = 0;

        let region = Region::loaded(GRID, 10, loads);
        let pilot = region.fewest_overflows(&group, 0);
        assert_ne!(buckets(&group, pilot)[0], buckets(&group, pilot)[1]);
    }
}
