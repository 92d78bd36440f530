//! Items: chunks of values with their hashes.
//!
//! A small table has all items in memory, a large one reads them in windows.

use std::ops::Range;

use crate::error::Result;
use crate::grid::Grid;
use crate::hash::KeyHash;

/// A chunk of an entry's value that is to be placed in a bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) hash: KeyHash,
    /// Number of the entry in the order of ids.
    pub(crate) entry: u32,
    /// Number of the chunk in the value.
    pub(crate) chunk: u32,
    /// Length in bytes of the chunk's entry in a bucket.
    pub(crate) bytes: u32,
}

impl Item {
    /// The chunk's position in the order of all chunks: its entry and its number.
    pub(crate) fn order(&self) -> (u32, u32) {
        (self.entry, self.chunk)
    }
}

/// A window: the items of consecutive regions.
pub(crate) trait Window: Sync {
    /// The items, in any order.
    fn items(&self) -> &[Item];

    /// Writes the entry of the item with this index to the free bytes of its bucket.
    fn write(&self, number: u32, free: &mut [u8]);
}

/// The use of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Placement of items, which needs no entries.
    Place,
    /// Writing of entries.
    Write,
}

/// A function that receives the items of a range of regions. It returns false to stop.
pub(crate) type EachWindow<'a> = dyn FnMut(Range<u32>, &dyn Window) -> Result<bool> + 'a;

/// All items of a table.
pub(crate) trait Items {
    /// Calls `each` for the items of all regions, window by window, in the order of regions. Stops
    /// when `each` returns false, and returns its last result.
    fn each_window(
        &mut self,
        grid: Grid,
        purpose: Purpose,
        each: &mut EachWindow<'_>,
    ) -> Result<bool>;
}
