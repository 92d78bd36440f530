//! Errors of packings.

use super::key_shape::KeyShape;

/// Exclusive bound on the entries of a packing matrix, which are stored in 32 bits.
pub const MAX_ENTRY: u64 = 1 << 31;

/// Invalid input of a packing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackingError {
    /// An unsupported number of LWE encryptions in a pack.
    #[error("{packing}: {found} encryptions in a pack, expected {expected}")]
    Capacity {
        /// Name of the packing.
        packing: &'static str,
        /// The requested number.
        found: usize,
        /// The supported numbers, in words.
        expected: String,
    },
    /// Sums of digits do not fit 32 bits.
    #[error("entries of the packing matrix reach {found}: expected below 2^31")]
    Entries {
        /// The bound on an entry.
        found: u64,
    },
    /// A key for another packing or another γ.
    #[error("packing key for {found}: expected one for {expected}")]
    Key {
        /// Shape of the key.
        found: KeyShape,
        /// Expected shape.
        expected: KeyShape,
    },
    /// A slot outside the unit.
    #[error("slot {found} of a unit: expected a slot below {slots}")]
    Slot {
        /// The slot.
        found: usize,
        /// Slots of a unit.
        slots: usize,
    },
    /// A place outside the pack, or of two encryptions.
    #[error("an encryption at place {found} of a pack: expected different places below {places}")]
    Place {
        /// The place.
        found: usize,
        /// Places of the pack.
        places: usize,
    },
    /// A wrong number of elements.
    #[error("{found} {what}: expected {expected}")]
    Count {
        /// Name of the counted elements.
        what: &'static str,
        /// Actual number.
        found: usize,
        /// Expected number.
        expected: usize,
    },
}

/// Returns [`PackingError::Count`] unless the numbers agree.
pub(super) fn check_count(
    what: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), PackingError> {
    if found == expected {
        Ok(())
    } else {
        Err(PackingError::Count {
            what,
            found,
            expected,
        })
    }
}
