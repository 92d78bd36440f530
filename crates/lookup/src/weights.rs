//! Statistics of items' lengths, and the grids for them.

use crate::grid::Grid;
use crate::items::Item;

/// Statistics of the items' lengths.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weights {
    pub(crate) items: u64,
    /// Sum of the lengths in bytes.
    bytes: u64,
    /// Sum of the squares of the lengths.
    squares: f64,
}

impl Weights {
    /// The statistics of these items.
    pub(crate) fn of(items: &[Item]) -> Self {
        let mut weights = Self::default();
        items.iter().for_each(|item| weights.add(item));
        weights
    }

    /// Adds an item.
    pub(crate) fn add(&mut self, item: &Item) {
        self.items += 1;
        self.bytes += u64::from(item.bytes);
        self.squares += f64::from(item.bytes).powi(2);
    }

    /// Number of items of typical length that fill a bucket: capacity · Σ bytes / Σ bytes². The
    /// load of a bucket varies as if it had this number of items of equal length.
    fn slots(&self, capacity: u32) -> f64 {
        f64::from(capacity) * self.bytes as f64 / self.squares
    }

    /// The skew of the lengths: items · Σ bytes² / (Σ bytes)². It is 1 for items of one length, and
    /// large if a few items fill most buckets.
    fn skew(&self) -> f64 {
        self.items as f64 * self.squares / (self.bytes as f64).powi(2)
    }

    /// The minimum number of buckets, in which no byte would be free.
    pub(crate) fn least(&self, capacity: u32) -> u64 {
        self.bytes.div_ceil(capacity.into()).max(1)
    }

    /// The grid with at least `records` buckets.
    pub(crate) fn grid(&self, records: u64, capacity: u32) -> Grid {
        // With few items per bucket, the load of a small region would vary too much.
        let slots = self.slots(capacity);
        let region_buckets = if slots >= MANY_SLOTS {
            16.0
        } else {
            REGION_ITEMS / slots
        };
        let regions = (records as f64 / region_buckets).round().max(1.0) as u64;

        // Buckets of many items vary so little that one pilot steers a whole region.
        let pilots = if slots >= MANY_SLOTS {
            1
        } else {
            (self.items as f64 / regions as f64 / self.keys_per_pilot(slots))
                .ceil()
                .max(1.0) as u32
        };

        Grid {
            regions: regions as u32,
            buckets: records.div_ceil(regions) as u32,
            pilots,
        }
    }

    /// Number of keys per pilot in a region of many pilots. More keys give a smaller layout and a
    /// larger table. This number gives tables of 1.04 (one slot) to 1.2 (40 slots) times the bytes
    /// of their items, as `tests/it/overhead.rs` measures. If a few long items fill most buckets,
    /// few buckets remain for other keys, and fewer keys can share a pilot.
    fn keys_per_pilot(&self, slots: f64) -> f64 {
        ((4.0 + 1.5 * slots) / self.skew()).max(2.5)
    }
}

/// Minimum number of items per bucket for regions with a single pilot.
pub(crate) const MANY_SLOTS: f64 = 48.0;
/// Number of items in a region of many pilots.
const REGION_ITEMS: f64 = 16384.0;
