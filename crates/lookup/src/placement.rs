//! Placement of items in buckets: searches pilots under which no bucket overflows.
//!
//! Regions are independent of each other. Within a region, the items of one pilot are placed
//! together, heaviest pilot first, each under the first pilot value that overfills no bucket
//! (Belazzougui, Botelho and Dietzfelbinger, "Hash, displace, and compress", 2009, here with
//! buckets that hold many items). If buckets hold many items, one pilot steers a region of 16
//! buckets: a few bytes for thousands of keys. If they hold few, the total of a small region varies
//! too much; regions are then large and have a pilot for every few keys.

use papir_core::Progress;

use crate::dimensions::Dimensions;
use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::hash::KeyHash;

/// A chunk of an entry's value, to be placed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) hash: KeyHash,
    /// Number of the entry in the source.
    pub(crate) entry: u32,
    /// Number of the chunk in the value.
    pub(crate) chunk: u32,
    /// Bytes that it takes in a bucket.
    pub(crate) bytes: u32,
}

/// Statistics of the items' lengths.
struct Weights {
    items: u64,
    /// Bytes of all items.
    bytes: u64,
    /// Items of typical length that fill a bucket: capacity · Σ bytes / Σ bytes². The load of a
    /// bucket varies as if it held this many equal items.
    slots: f64,
    /// items · Σ bytes² / (Σ bytes)²: 1 for items of one length, large if a few fill most buckets.
    skew: f64,
}

impl Weights {
    fn of(items: &[Item], capacity: u32) -> Self {
        let bytes: u64 = items.iter().map(|item| u64::from(item.bytes)).sum();
        let squares: f64 = items.iter().map(|item| f64::from(item.bytes).powi(2)).sum();
        let slots = f64::from(capacity) * bytes as f64 / squares;
        let skew = items.len() as f64 * squares / (bytes as f64).powi(2);
        Self { items: items.len() as u64, bytes, slots, skew }
    }

    /// The minimum number of buckets: no byte is left free.
    fn least(&self, capacity: u32) -> u64 {
        self.bytes.div_ceil(capacity.into()).max(1)
    }

    /// The grid for at least `records` buckets.
    fn grid(&self, records: u64) -> Grid {
        let region_buckets = if self.slots >= MANY_SLOTS { 16.0 } else { REGION_ITEMS / self.slots };
        let regions = (records as f64 / region_buckets).round().max(1.0) as u64;
        let pilots = if self.slots >= MANY_SLOTS {
            1
        } else {
            (self.items as f64 / regions as f64 / self.keys_per_pilot()).ceil().max(1.0) as u32
        };
        Grid { regions: regions as u32, buckets: records.div_ceil(regions) as u32, pilots }
    }

    /// Number of keys per pilot in a region of many pilots. More keys give a smaller layout and a
    /// larger table: this number gives tables of 1.04 (one slot) to 1.2 (40 slots) times the bytes
    /// of their items, as `tests/it/overhead.rs` measures. If a few long items fill most buckets,
    /// the other keys have few buckets left, and fewer of them can share a pilot.
    fn keys_per_pilot(&self) -> f64 {
        ((4.0 + 1.5 * self.slots) / self.skew).max(2.5)
    }
}

/// Minimum number of items per bucket for regions with a single pilot.
pub(crate) const MANY_SLOTS: f64 = 48.0;
/// Items per region of many pilots.
const REGION_ITEMS: f64 = 16384.0;

/// Maximum number of buckets: regions and items have 32-bit numbers.
const MAX_BUCKETS: u64 = 1 << 32;

/// Finds the densest grid that fits all items, then one with `room` per cent more buckets. Returns
/// the grid and its pilots.
///
/// # Errors
/// [`Error::Placement`] if a table of four times the bytes of all items is too small, or there are
/// more than 2³² items.
pub(crate) fn place_all(
    items: &[Item],
    dimensions: &Dimensions,
    room: u32,
    progress: &dyn Progress,
) -> Result<(Grid, Vec<u16>)> {
    let capacity = dimensions.bucket_bytes;
    let weights = Weights::of(items, capacity);
    let dense = place_from(items, &weights, weights.least(capacity), capacity, progress)?;
    if room == 0 {
        return Ok(dense);
    }
    let records = dense.0.records();
    let wider = records + (records * u64::from(room)).div_ceil(100);
    place_from(items, &weights, wider, capacity, progress)
}

/// Finds the first grid of at least `first` buckets that fits all items.
fn place_from(
    items: &[Item],
    weights: &Weights,
    first: u64,
    capacity: u32,
    progress: &dyn Progress,
) -> Result<(Grid, Vec<u16>)> {
    let most = (first + 3 * weights.least(capacity) + 16).min(MAX_BUCKETS);
    let mut records = first;
    // Item numbers have 32 bits, so more items than that are refused as well.
    while records <= most && weights.items <= MAX_BUCKETS {
        let grid = weights.grid(records);
        if let Some(pilots) = Placement::new(items, grid, capacity).and_then(|p| p.search(progress)) {
            return Ok((grid, pilots));
        }
        records = records.max(grid.records()) + (records / 128).max(1);
    }
    Err(Error::Placement { entries: weights.items, records, bucket_bytes: capacity.into() })
}

/// Items grouped by region.
struct Placement<'a> {
    items: &'a [Item],
    grid: Grid,
    capacity: u32,
    /// Item numbers; those of region r are at `starts[r]..starts[r + 1]`.
    order: Vec<u32>,
    starts: Vec<usize>,
    /// Regions, fullest first, so that a grid that is too small fails early.
    regions: Vec<u32>,
}

impl<'a> Placement<'a> {
    /// Groups the items; `None` if a region has more bytes than its buckets.
    fn new(items: &'a [Item], grid: Grid, capacity: u32) -> Option<Self> {
        let mut bytes = vec![0u64; grid.regions as usize];
        let mut starts = vec![0usize; grid.regions as usize + 1];
        for item in items {
            let region = grid.region(item.hash.pilot_hash) as usize;
            bytes[region] += u64::from(item.bytes);
            starts[region + 1] += 1;
        }
        let room = u64::from(grid.buckets) * u64::from(capacity);
        if bytes.iter().any(|&bytes| bytes > room) {
            return None;
        }
        (1..starts.len()).for_each(|i| starts[i] += starts[i - 1]);
        let order = sorted_by(items, &starts, |item| grid.region(item.hash.pilot_hash) as usize);
        let mut regions: Vec<u32> = (0..grid.regions).collect();
        regions.sort_unstable_by_key(|&region| std::cmp::Reverse(bytes[region as usize]));
        Some(Self { items, grid, capacity, order, starts, regions })
    }

    /// Searches the pilots of all regions; `None` if a region has none that fit.
    fn search(&self, progress: &dyn Progress) -> Option<Vec<u16>> {
        progress.stage("placing keys", self.regions.len() as u64);
        let per_region = self.grid.pilots as usize;
        let mut pilots = vec![0u16; self.grid.pilot_count() as usize];
        let mut region = Region::new(self.grid, self.capacity);
        for &number in &self.regions {
            let number = number as usize;
            let items = &self.order[self.starts[number]..self.starts[number + 1]];
            region.fill(items.iter().map(|&i| &self.items[i as usize]));
            region.place(&mut pilots[number * per_region..(number + 1) * per_region])?;
            progress.advance(1);
        }
        Some(pilots)
    }
}

/// Sorts item numbers by `class`; `starts` has the first position of each class.
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
    /// Number of its pilot within the region.
    pub(crate) pilot: u32,
    pub(crate) bytes: u32,
    pub(crate) bucket_hash: u64,
}

/// A region during the search of its pilots; reused for all regions.
pub(crate) struct Region {
    grid: Grid,
    capacity: u32,
    pieces: Vec<Piece>,
    /// Bytes in each bucket.
    loads: Vec<u32>,
    /// Buckets that the current pilot value has added to.
    touched: Vec<u32>,
}

impl Region {
    fn new(grid: Grid, capacity: u32) -> Self {
        let loads = vec![0; grid.buckets as usize];
        Self { grid, capacity, pieces: Vec::new(), loads, touched: Vec::new() }
    }

    /// A region with these bytes in its buckets, for one more pilot.
    pub(crate) fn loaded(grid: Grid, capacity: u32, loads: Vec<u32>) -> Self {
        Self { grid, capacity, pieces: Vec::new(), loads, touched: Vec::new() }
    }

    fn fill<'a>(&mut self, items: impl Iterator<Item = &'a Item>) {
        self.loads.fill(0);
        self.pieces.clear();
        self.pieces.extend(items.map(|item| Piece {
            pilot: self.grid.pilot(item.hash.pilot_hash),
            bytes: item.bytes,
            bucket_hash: item.hash.bucket_hash,
        }));
        self.pieces.sort_unstable_by_key(|piece| piece.pilot);
    }

    /// Searches all pilots of the region, heaviest first.
    fn place(&mut self, pilots: &mut [u16]) -> Option<()> {
        let pieces = std::mem::take(&mut self.pieces);
        let mut groups: Vec<(u64, &[Piece])> = pieces
            .chunk_by(|a, b| a.pilot == b.pilot)
            .map(|group| (group.iter().map(|piece| u64::from(piece.bytes)).sum(), group))
            .collect();
        groups.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        let placed = groups.iter().try_for_each(|(_, group)| {
            pilots[group[0].pilot as usize] = self.find_pilot(group)?;
            Some(())
        });
        self.pieces = pieces;
        placed
    }

    /// Like [`Region::first_pilot`], with fewer trials for larger groups: the search fails within a
    /// fraction of a second if a region does not fit.
    fn find_pilot(&mut self, group: &[Piece]) -> Option<u16> {
        const WORK: usize = 1 << 23;
        let trials = (WORK / group.len()).clamp(256, 1 << 16);
        self.first_pilot(group, trials)
    }

    /// Finds the first of `trials` pilot values under which the group fits, and adds its bytes to
    /// the loads.
    pub(crate) fn first_pilot(&mut self, group: &[Piece], trials: usize) -> Option<u16> {
        (0..=u16::MAX).take(trials).find(|&pilot| self.try_pilot(group, pilot))
    }

    /// Finds the value, among a few hundred, under which the fewest pieces of a group overflow
    /// their bucket. Each turn tries other values, so that two groups do not evict each other
    /// forever.
    pub(crate) fn fewest_overflows(&self, group: &[Piece], turn: usize) -> u16 {
        const TRIALS: usize = 512;
        let full = |pilot: u16| {
            let load = |piece: &Piece| self.loads[self.grid.bucket(piece.bucket_hash, pilot) as usize];
            group.iter().filter(|piece| load(piece) + piece.bytes > self.capacity).count()
        };
        let tried = (0..TRIALS).map(|trial| (turn * TRIALS + trial) as u16);
        tried.min_by_key(|&pilot| full(pilot)).unwrap_or_default()
    }

    /// Adds the group's bytes under this pilot value; leaves the loads unchanged if it does not
    /// fit.
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

    fn undo(&mut self, group: &[Piece]) {
        for (&bucket, piece) in self.touched.iter().zip(group) {
            self.loads[bucket as usize] -= piece.bytes;
        }
    }
}
