//! Blocks of a bundle, by which a client brings an older copy up to date.
//!
//! | file | contents |
//! |---|---|
//! | `list` | the values of all blocks, and patches of copies |
//! | `ranges` | sets of blocks, as text |
//!
//! A bundle is cut into blocks. A client fetches the [`BlockList`] of the bundle that it wants,
//! hashes its copy in the same blocks, and fetches those that differ. Any copy will do, of any age.

mod list;
mod ranges;

pub use list::{BLOCK_LIST_FORMATS, BlockList, block_bytes};
pub use ranges::{BlockRanges, MAX_RANGES};
