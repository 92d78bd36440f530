//! Errors of packings.

use super::key_shape::KeyShape;

/// The largest sum of absolute entries of a row: times residues below 2²⁷ in absolute value it
/// stays below 2⁶³.
pub const MAX_ROW_SUM: u64 = 1 << 36;

/// A row of the matrix whose product with a key could overflow 64 bits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("packing matrix: row {row} sums to {found} in absolute value, expected below {MAX_ROW_SUM}")]
pub struct MatrixError {
    /// The row.
    pub row: usize,
    /// Its sum of absolute entries.
    pub found: u64,
}

/// Why a packing refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackingError {
    /// A number of LWE encryptions that this packing does not pack.
    #[error("{packing}: {found} encryptions a pack, expected {expected}")]
    Capacity {
        /// The packing.
        packing: &'static str,
        /// What was asked.
        found: usize,
        /// What can be.
        expected: String,
    },
    /// Sums of digits do not fit 32 bits.
    #[error("entries of the packing matrix reach {found}: expected below 2^31")]
    Entries {
        /// The bound on an entry.
        found: u64,
    },
    /// Online sums could overflow.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// A key of another packing, or of another γ.
    #[error("a key of {found}: expected one of {expected}")]
    Key {
        /// Whose key.
        found: KeyShape,
        /// Whose it should be.
        expected: KeyShape,
    },
    /// A slot that a unit does not have.
    #[error("slot {found} of a unit: expected one below {slots}")]
    Slot {
        /// The slot.
        found: usize,
        /// How many there are.
        slots: usize,
    },
    /// A number of things that is not what the packing takes.
    #[error("{found} {what}: expected {expected}")]
    Count {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
}

/// Refuses a number that is not the expected one.
pub(super) fn check_count(what: &'static str, found: usize, expected: usize) -> Result<(), PackingError> {
    if found == expected { Ok(()) } else { Err(PackingError::Count { what, found, expected }) }
}
