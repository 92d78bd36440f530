//! Residues of 50 bits, packed without gaps: 25 bytes for four.
//!
//! Word i of a group begins at bit 50·i. A word of 64 bits that begins at byte ⌊50·i/8⌋ holds it.
//! The last word of the group is in one that begins a byte earlier and ends with the group.

use crate::backend::Backend;
use crate::dispatch::same_length;

/// Words that are packed together, and their bytes.
pub(crate) const GROUP: usize = 8;
pub(crate) const GROUP_BYTES: usize = 50;
/// The bits of a word.
pub(crate) const MASK: u64 = (1 << 50) - 1;
/// First byte and shift of each word of a group.
pub(crate) const PLACES: [(usize, u32); GROUP] = [
    (0, 0),
    (6, 2),
    (12, 4),
    (18, 6),
    (25, 0),
    (31, 2),
    (37, 4),
    (42, 14),
];

/// Bytes of `count` packed residues, a multiple of 8.
///
/// # Panics
/// If the count is not a multiple of 8.
pub const fn packed_len(count: usize) -> usize {
    assert!(count.is_multiple_of(GROUP), "a multiple of 8 residues");
    count / GROUP * GROUP_BYTES
}

kernel! {
    /// Packs residues below 2⁵⁰, a multiple of 8 of them.
    pub fn pack(out: &mut [u8], words: &[u64])
    checks { same_length([out.len(), packed_len(words.len())]) }
    in wide_packed;
}

/// Unpacks residues, a multiple of 8 of them.
pub fn unpack(backend: Backend, out: &mut [u64], bytes: &[u8]) {
    same_length([bytes.len(), packed_len(out.len())]);
    dispatch!(backend, wide_packed::unpack(out, bytes));
}
