//! Words of a fixed number of bits, packed without gaps into whole bytes.

use papir_core::codec::Reader;
use papir_core::{Error, Result};
use papir_kernels::bits;

/// Appends words of `width` bits.
pub(crate) fn pack<T: Copy + Into<u64>>(words: &[T], width: u32, bytes: &mut Vec<u8>) {
    let words: Vec<u64> = words.iter().map(|&word| word.into()).collect();
    let mut packed = Vec::new();
    bits::pack(&words, width, &mut packed);
    bytes.append(&mut packed);
}

/// Reads `count` words of `width` bits.
///
/// # Errors
/// [`Error::Length`], or [`Error::Malformed`] if the padding bits are not zero.
pub(crate) fn unpack(
    reader: &mut Reader<'_>,
    what: &'static str,
    width: u32,
    count: usize,
) -> Result<Vec<u64>> {
    let mut words = Vec::new();
    bits::unpack(reader.raw(bits::packed_len(count, width))?, width, count, &mut words)
        .map_err(|error| Error::malformed(what, error, "zeros after the last word"))?;
    Ok(words)
}

/// [`unpack`] for words of at most 32 bits.
///
/// # Errors
/// As [`unpack`].
pub(crate) fn unpack_u32(
    reader: &mut Reader<'_>,
    what: &'static str,
    width: u32,
    count: usize,
) -> Result<Vec<u32>> {
    Ok(unpack(reader, what, width, count)?.into_iter().map(|word| word as u32).collect())
}

/// Reads a message with `read` and checks that nothing is left.
///
/// # Errors
/// Those of `read`, and [`Error::Length`].
pub(crate) fn read_all<T>(
    what: &'static str,
    bytes: &[u8],
    read: impl FnOnce(&mut Reader<'_>) -> Result<T>,
) -> Result<T> {
    let mut reader = Reader::new(what, bytes);
    let message = read(&mut reader)?;
    reader.finish()?;
    Ok(message)
}
