//! Variable-length numbers (LEB128).

use std::ops::Range;

use papir_core::{Error as CoreError, Result as CoreResult};

/// Maximum length of an encoded number in bytes.
const MAX_BYTES: usize = 10;

/// An encoded number: seven bits in a byte, the lowest bits first. The highest bit is set in all
/// bytes but the last.
pub(super) struct Varint {
    bytes: [u8; MAX_BYTES],
    length: usize,
}

impl Varint {
    pub(super) fn of(mut number: u64) -> Self {
        let mut bytes = [0; MAX_BYTES];
        let mut length = 1;
        while number >= 0x80 {
            bytes[length - 1] = number as u8 | 0x80;
            number >>= 7;
            length += 1;
        }

        bytes[length - 1] = number as u8;
        Self { bytes, length }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Reads a number at the offset `at` of a run, and advances the offset.
pub(super) fn read(run: &[u8], at: &mut usize) -> CoreResult<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let Some(&byte) = run.get(*at) else {
            return Err(torn());
        };
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(torn())
}

/// Reads a field with its length before it at the offset `at` of a run, and advances the offset.
/// Returns the range of the field.
pub(super) fn read_field(run: &[u8], at: &mut usize) -> CoreResult<Range<usize>> {
    let length = read(run, at)?;
    let start = *at;
    let end = usize::try_from(length)
        .ok()
        .and_then(|length| start.checked_add(length))
        .filter(|&end| end <= run.len());

    *at = end.ok_or_else(torn)?;
    Ok(start..*at)
}

/// The error for a run that ends within a row, or has other bytes.
pub(super) fn torn() -> CoreError {
    CoreError::malformed("a run of rows", "a torn row", "whole rows")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_reference::vectors::rows;

    use super::*;

    const VECTORS: &str = include_str!("../../../../docs/vectors/arithmetic/lookup.json");

    #[test]
    fn bytes_are_those_of_the_definition() {
        for [number, length, expected] in rows::<3>(VECTORS, "varint") {
            let encoded = Varint::of(number as u64);
            let expected = &expected.to_le_bytes()[..length as usize];
            assert_eq!(encoded.as_bytes(), expected, "{number}");

            let mut at = 0;
            assert_eq!(read(expected, &mut at).unwrap(), number as u64);
            assert_eq!(at, expected.len(), "{number}");
        }
    }

    #[test]
    fn numbers_come_back_in_as_few_bytes_as_they_need() {
        for (number, length) in [
            (0, 1),
            (127, 1),
            (128, 2),
            (16_383, 2),
            (16_384, 3),
            (u64::from(u32::MAX), 5),
            (u64::MAX, 10),
        ] {
            let encoded = Varint::of(number);
            let bytes = encoded.as_bytes();
            assert_eq!(bytes.len(), length, "{number}");

            let mut at = 1;
            let run = [&[7][..], bytes, &[7]].concat();
            assert_eq!(read(&run, &mut at).unwrap(), number);
            assert_eq!(at, 1 + length);
            assert!(read(&bytes[..length - 1], &mut 0).is_err());
        }
        assert!(read(&[0x80; 20], &mut 0).is_err());
    }
}
