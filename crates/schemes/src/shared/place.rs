//! Places of records in a matrix whose columns are stacks of units.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::units::Units;

/// Most columns of a matrix over the packing ring: a selector of 115 MB. Bounds what a client
/// allocates for a server's parameters.
pub(crate) const MAX_COLUMNS: u64 = 1 << 24;

/// Place of one record. As secret as the index.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Location {
    /// Unit that holds the record.
    pub unit: u64,
    /// Column of the unit.
    pub column: u32,
    /// Position of the unit in its column.
    pub block: u32,
    /// Position of the record in its unit.
    pub slot: u64,
}

impl Units {
    /// Place of a record in columns of `blocks` units. No branch depends on the index.
    pub(crate) fn location(&self, index: u64, blocks: usize) -> Location {
        let ((unit, slot), blocks) = (self.locate(index), blocks as u64);
        Location { unit, column: (unit / blocks) as u32, block: (unit % blocks) as u32, slot }
    }
}
