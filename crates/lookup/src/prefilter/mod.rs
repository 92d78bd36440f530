//! Prefilters: compact public sets of a table's keys.
//!
//! A client that has the filter of a database looks up only keys that the filter may have. The
//! filter has a fingerprint of each key, as Golomb-Rice coded differences, in blocks of a fixed
//! range: a test decodes one block.
//!
//! The fingerprint of a key, in a filter of n keys with b bits, is ⌊w · n · 2ᵇ / 2⁶⁴⌋, where w is
//! the first 8 bytes of the key's id, big-endian. It grows with the id, so sorted ids have sorted
//! fingerprints. An absent key is found with probability 2⁻ᵇ.
//!
//! ```text
//! offset  bytes  field
//!      0      4  magic "PIRK"
//!      4      2  format version, 1
//!      6      1  bits b, 4 to 24
//!      7      1  0
//!      8      8  number of keys n
//!     16     4k  for each of the k = ⌈n/256⌉ blocks, the end of its code, counted from the first
//!                byte of all codes
//!      …      …  the codes of all blocks
//! ```
//! Block i has the fingerprints from i · 2ᵇ⁺⁸ up to (i+1) · 2ᵇ⁺⁸. Its code has, for each, the
//! difference to the one before, for the first to the block's start: the part above b bits in unary
//! (ones, then a zero), then the b low bits. It starts with the least significant bit of a byte.
//! The rest of its last byte is ones, which are no difference. All numbers are little-endian.
//!
//! The source of the idea is the filter of BIP 158.

mod bits;
mod filter;
mod header;
mod summary;
mod write;

use std::ops::RangeInclusive;

use papir_core::{Error as CoreError, Formats, Result as CoreResult};

pub use filter::Prefilter;
pub use summary::PrefilterSummary;
pub use write::{of_ids, write};

/// The bits that a filter can have. A filter of b bits has 2⁻ᵇ false positives.
pub const BITS: RangeInclusive<u8> = 4..=24;

/// Format versions of prefilters.
pub const PREFILTER_FORMATS: Formats = Formats {
    what: "a prefilter",
    oldest: 1,
    written: 1,
    renew: "build the snapshot again from its source: `papir build …`",
};

/// Bytes before the ends of the blocks.
const HEADER_BYTES: usize = 16;
/// Bytes of the end of a block.
const END_BYTES: usize = 4;

/// Checks the bits of a filter.
///
/// # Errors
/// [`CoreError::OutOfBounds`] outside [`BITS`].
pub fn check_bits(bits: u8) -> CoreResult<()> {
    if BITS.contains(&bits) {
        return Ok(());
    }

    let expected = format!("{} to {}", BITS.start(), BITS.end());
    Err(CoreError::out_of_bounds(
        "the bits of a prefilter",
        bits.into(),
        expected,
    ))
}

/// Estimates the length in bytes of a filter of `keys` keys.
pub fn expected_bytes(bits: u8, keys: u64) -> u64 {
    // A difference has 1 + 1/(e − 1) bits of its unary part on average. A block has its end, and
    // 3.5 bits of padding.
    let each = f64::from(bits) + 1.582 + (8.0 * END_BYTES as f64 + 3.5) / 256.0;
    HEADER_BYTES as u64 + (keys as f64 * each / 8.0).ceil() as u64
}
