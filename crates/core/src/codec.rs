//! Bounded reading and writing of little-endian metadata.

use crate::{Error, Result};

/// Appends little-endian numbers and length-prefixed bytes.
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

    /// Appends two bytes.
    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends four bytes.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends eight bytes.
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
    /// Reads `bytes`; `what` names them in errors.
    pub fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Self {
            what,
            bytes,
            position: 0,
        }
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// [`Error::Length`] if fewer are left.
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

    /// The next `N` bytes as an array.
    ///
    /// # Errors
    /// [`Error::Length`] when fewer are left.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.raw(N)?);
        Ok(array)
    }

    /// The next byte.
    ///
    /// # Errors
    /// [`Error::Length`] at the end.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// The next two bytes.
    ///
    /// # Errors
    /// [`Error::Length`] when fewer are left.
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// The next four bytes.
    ///
    /// # Errors
    /// [`Error::Length`] when fewer are left.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// The next eight bytes.
    ///
    /// # Errors
    /// [`Error::Length`] when fewer are left.
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Length-prefixed bytes.
    ///
    /// # Errors
    /// [`Error::Length`] if fewer bytes are left than the prefix says.
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.u64()?;
        self.raw(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// The unread bytes.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.position..];
        self.position = self.bytes.len();
        rest
    }

    /// Returns whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.position == self.bytes.len()
    }

    /// Checks that everything was read.
    ///
    /// # Errors
    /// [`Error::Length`] if bytes are left over.
    pub fn finish(self) -> Result<()> {
        Error::check_length(self.what, self.bytes.len(), self.position)
    }
}
