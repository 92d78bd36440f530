//! Bounded reading and writing of little-endian metadata.

use crate::{Error, Result};

/// Writes little-endian numbers and length-prefixed bytes.
#[derive(Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Creates an empty message.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends raw bytes.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends one byte.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.raw(&[value])
    }

    /// Appends a number as two bytes.
    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends a number as four bytes.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends a number as eight bytes.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends a 64-bit length and the bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.u64(bytes.len() as u64).raw(bytes)
    }

    /// The finished message.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads what [`Writer`] wrote; every read is bounds-checked.
pub struct Reader<'a> {
    what: &'static str,
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`; `what` names them in errors.
    pub fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Self {
            what,
            bytes,
            position: 0,
        }
    }

    /// Reads the next `count` bytes.
    ///
    /// # Errors
    /// [`Error::Length`] if fewer bytes remain.
    pub fn raw(&mut self, count: usize) -> Result<&'a [u8]> {
        // A count from a message may be near 2⁶⁴: the end must not wrap to a position inside.
        let end = self.position.saturating_add(count);
        let Some(part) = self.bytes.get(self.position..end) else {
            let found = self.bytes.len() as u64;
            let expected = end as u64;
            return Err(Error::Length {
                what: self.what,
                found,
                expected,
            });
        };

        self.position = end;
        Ok(part)
    }

    /// Reads the next `N` bytes as an array.
    ///
    /// # Errors
    /// [`Error::Length`] if fewer bytes remain.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.raw(N)?);
        Ok(array)
    }

    /// Reads the next byte.
    ///
    /// # Errors
    /// [`Error::Length`] if no byte remains.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// Reads a number from the next two bytes.
    ///
    /// # Errors
    /// [`Error::Length`] if fewer bytes remain.
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Reads a number from the next four bytes.
    ///
    /// # Errors
    /// [`Error::Length`] if fewer bytes remain.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Reads a number from the next eight bytes.
    ///
    /// # Errors
    /// [`Error::Length`] if fewer bytes remain.
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads a 64-bit length and that number of bytes.
    ///
    /// # Errors
    /// [`Error::Length`] if fewer bytes remain than the length says.
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.u64()?;
        self.raw(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// Returns the number of bytes that remain.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// Reads all remaining bytes.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.position..];
        self.position = self.bytes.len();
        rest
    }

    /// Returns true if no bytes remain.
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// Checks that no bytes remain.
    ///
    /// # Errors
    /// [`Error::Length`] if bytes remain.
    pub fn finish(self) -> Result<()> {
        Error::check_length(self.what, self.bytes.len(), self.position)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_reference::vectors::rows;

    use super::*;

    const VECTORS: &str = include_str!("../../../docs/vectors/arithmetic/core.json");

    #[test]
    fn reads_stay_inside_the_bytes() {
        for [length, position, count, accepted] in rows::<4>(VECTORS, "reader.raw") {
            let bytes = vec![0; length as usize];
            let mut reader = Reader::new("bytes", &bytes);
            reader.raw(position as usize).unwrap();

            let found = reader.raw(count as usize).map(<[u8]>::len).ok();
            let expected = (accepted == 1).then_some(count as usize);
            assert_eq!(found, expected, "{count} from {position} of {length}");
        }
    }
}
