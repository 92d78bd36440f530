//! Packing of unsigned values of a fixed width into bytes.
//!
//! Value `i` is in bits `i·width` to `(i+1)·width − 1` of a little-endian bit string: bit `b` of
//! the string is bit `b mod 8` of byte `⌊b/8⌋`. The last byte is padded with zeros.

use crate::backend::Backend;

/// Error from unpacking bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BitsError {
    /// Wrong number of bytes.
    #[error("packed values take {expected} bytes, found {found}")]
    Length {
        /// The given number of bytes.
        found: usize,
        /// The number of bytes of the packed values.
        expected: usize,
    },
    /// The bits after the last value are not zero.
    #[error("the {bits} bits after the last value are {found:#x}, expected 0")]
    Padding {
        /// The bits that were found.
        found: u8,
        /// The number of padding bits in the last byte.
        bits: u32,
    },
}

/// Bytes of `count` packed values of `width` bits (1 to 64); `usize::MAX` if the number overflows
/// a `usize`.
///
/// # Panics
/// If `width` is outside 1 to 64.
pub const fn packed_len(count: usize, width: u32) -> usize {
    assert!(width >= 1 && width <= 64, "a width of 1 to 64 bits");
    let bytes = (count as u128 * width as u128).div_ceil(8);
    if bytes > usize::MAX as u128 {
        return usize::MAX;
    }
    bytes as usize
}

/// Packs the low `width` bits (1 to 64) of each value and replaces the contents of `out`.
///
/// Higher bits are dropped. No branch depends on a value.
///
/// # Panics
/// If `width` is outside 1 to 64.
pub fn pack(backend: Backend, values: &[u64], width: u32, out: &mut Vec<u8>) {
    out.clear();
    out.resize(packed_len(values.len(), width), 0);
    vectorise!(fn pack(values: &[u64], width: u32, out: &mut [u8]) in bits);
    pack(backend, values, width, out);
}

/// Unpacks `count` values of `width` bits (1 to 64) and replaces the contents of `out`.
///
/// # Errors
/// [`BitsError`] if `bytes` has the wrong length or a bit after the last value is not zero; `out`
/// is then unchanged.
///
/// # Panics
/// If `width` is outside 1 to 64.
pub fn unpack(
    backend: Backend,
    bytes: &[u8],
    width: u32,
    count: usize,
    out: &mut Vec<u64>,
) -> Result<(), BitsError> {
    // First, so that an error leaves `out` unchanged.
    check(bytes, width, count)?;
    out.clear();
    out.resize(count, 0);
    vectorise!(fn unpack(bytes: &[u8], width: u32, out: &mut [u64]) in bits);
    unpack(backend, bytes, width, out);
    Ok(())
}

/// Checks the length and the padding.
fn check(bytes: &[u8], width: u32, count: usize) -> Result<(), BitsError> {
    let found = bytes.len();
    let expected = packed_len(count, width);
    if found != expected {
        return Err(BitsError::Length { found, expected });
    }

    // Bits up to the next multiple of 8.
    let bits = (count as u128 * u128::from(width)).wrapping_neg() as u32 % 8;
    let last = bytes.last().map_or(0, |&last| u32::from(last));
    let found = (last << bits >> 8) as u8;
    if found != 0 {
        return Err(BitsError::Padding { found, bits });
    }

    Ok(())
}
