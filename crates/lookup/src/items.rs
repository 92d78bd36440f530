//! Items: chunks of values, with the hashes that place them.
//!
//! A small table has all of them in memory.

use std::ops::Range;

use crate::error::Result;
use crate::grid::Grid;
use crate::hash::KeyHash;

/// A chunk of an entry's value, to be placed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) hash: KeyHash,
    /// Number of the entry in the order of ids.
    pub(crate) entry: u32,
    /// Number of the chunk in the value.
    pub(crate) chunk: u32,
    /// Bytes that it takes in a bucket.
    pub(crate) bytes: u32,
}

impl Item {
    /// The place of its chunk in the order of all chunks: entry and chunk.
    pub(crate) fn order(&self) -> (u32, u32) {
        (self.entry, self.chunk)
    }
}

/// Items of consecutive regions.
pub(crate) trait Window: Sync {
    /// The items, in any order.
    fn items(&self) -> &[Item];

    /// Writes the entry of the item of this number to the free bytes of its bucket.
    fn write(&self, number: u32, free: &mut [u8]);
}

/// The use of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Placement, which needs no entries.
    Place,
    /// The writing of entries.
    Write,
}

/// Takes the items of a range of regions. Returns false to stop.
pub(crate) type EachWindow<'a> = dyn FnMut(Range<u32>, &dyn Window) -> Result<bool> + 'a;

/// All items of a table.
pub(crate) trait Items {
    /// Passes the items of all regions on, window by window, in the order of regions. Stops at the
    /// first `false` that `each` returns, and returns it.
    fn each_window(
        &mut self,
        grid: Grid,
        purpose: Purpose,
        each: &mut EachWindow<'_>,
    ) -> Result<bool>;
}
