//! Packing of unsigned values of a fixed width into bytes.
//!
//! Value `i` takes the bits `i·width` to `(i+1)·width` of a little-endian bit string:
//! bit `b` of the string is bit `b mod 8` of byte `⌊b/8⌋`. The last byte is filled up
//! with zeros.

use crate::backend::Backend;

/// Why bytes do not hold the packed values that were expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BitsError {
    /// The wrong number of bytes.
    #[error("packed values take {expected} bytes, found {found}")]
    Length {
        /// The number of bytes that was given.
        found: usize,
        /// The number of bytes that the values take.
        expected: usize,
    },
    /// Bits after the last value that are not zero.
    #[error("the {bits} bits after the last value are {found:#x}, expected 0")]
    Padding {
        /// The bits that were found.
        found: u8,
        /// How many bits fill up the last byte.
        bits: u32,
    },
}

/// Bytes that `count` values of `width` bits (1 to 64) take; `usize::MAX` where
/// that number is no `usize`.
///
/// # Panics
/// Where `width` is outside 1 to 64.
pub const fn packed_len(count: usize, width: u32) -> usize {
    assert!(width >= 1 && width <= 64, "a width of 1 to 64 bits");
    let bytes = (count as u128 * width as u128).div_ceil(8);
    if bytes > usize::MAX as u128 {
        return usize::MAX;
    }
    bytes as usize
}

/// Packs the low `width` bits (1 to 64) of each value; replaces the contents of
/// `out`. Higher bits are dropped. No branch depends on a value.
///
/// # Panics
/// Where `width` is outside 1 to 64.
pub fn pack(values: &[u64], width: u32, out: &mut Vec<u8>) {
    pack_with(Backend::current(), values, width, out);
}

/// [`pack`] on the backend given.
pub fn pack_with(backend: Backend, values: &[u64], width: u32, out: &mut Vec<u8>) {
    out.clear();
    out.resize(packed_len(values.len(), width), 0);
    vectorise!(fn pack(values: &[u64], width: u32, out: &mut [u8]) in bits);
    pack(backend, values, width, out);
}

/// Unpacks `count` values of `width` bits (1 to 64); replaces the contents of `out`.
///
/// # Errors
/// [`BitsError`] where `bytes` has the wrong length or a bit after the last value
/// is not zero; `out` is then untouched.
///
/// # Panics
/// Where `width` is outside 1 to 64.
pub fn unpack(bytes: &[u8], width: u32, count: usize, out: &mut Vec<u64>) -> Result<(), BitsError> {
    unpack_with(Backend::current(), bytes, width, count, out)
}

/// [`unpack`] on the backend given.
///
/// # Errors
/// As [`unpack`].
pub fn unpack_with(
    backend: Backend,
    bytes: &[u8],
    width: u32,
    count: usize,
    out: &mut Vec<u64>,
) -> Result<(), BitsError> {
    check(bytes, width, count)?;
    out.clear();
    out.resize(count, 0);
    vectorise!(fn unpack(bytes: &[u8], width: u32, out: &mut [u64]) in bits);
    unpack(backend, bytes, width, out);
    Ok(())
}

/// Checks the length and the bits after the last value.
fn check(bytes: &[u8], width: u32, count: usize) -> Result<(), BitsError> {
    let (found, expected) = (bytes.len(), packed_len(count, width));
    if found != expected {
        return Err(BitsError::Length { found, expected });
    }
    let bits = (count as u128 * u128::from(width)).wrapping_neg() as u32 % 8;
    let last = bytes.last().map_or(0, |&last| u32::from(last));
    let found = (last << bits >> 8) as u8;
    if found != 0 {
        return Err(BitsError::Padding { found, bits });
    }
    Ok(())
}
