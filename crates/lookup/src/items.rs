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
    /// Number of the entry among the pairs in memory that the item is made of; 0 for an item that
    /// is read from storage.
    pub(crate) entry: u32,
    /// Number of the chunk in the value.
    pub(crate) chunk: u32,
    /// Length in bytes of the chunk's entry in a bucket.
    pub(crate) bytes: u32,
}

/// A window: the items of consecutive regions.
pub(crate) trait Window: Sync {
    /// The items, in any order.
    fn items(&self) -> &[Item];

    /// The position of the item with this index in the order of all chunks: by the id of its key,
    /// or a number that grows with the id, and the number of the chunk.
    fn order(&self, number: u32) -> (u128, u32);

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
