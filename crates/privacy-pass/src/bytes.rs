//! Reading of messages from the front.

use crate::error::PassError;

/// The rest of a message.
pub(crate) struct MessageReader<'a> {
    what: &'static str,
    rest: &'a [u8],
}

impl<'a> MessageReader<'a> {
    /// A reader of a whole message. Errors name `what`.
    pub(crate) fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Self { what, rest: bytes }
    }

    /// The next `length` bytes.
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], PassError> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(self.ends());
        };
        self.rest = rest;
        Ok(taken)
    }

    /// The next `N` bytes as an array.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], PassError> {
        let Some((taken, rest)) = self.rest.split_first_chunk() else {
            return Err(self.ends());
        };
        self.rest = rest;
        Ok(*taken)
    }

    /// The next byte.
    pub(crate) fn byte(&mut self) -> Result<u8, PassError> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    /// The next two bytes as a number in network byte order.
    pub(crate) fn u16(&mut self) -> Result<u16, PassError> {
        self.array().map(u16::from_be_bytes)
    }

    /// The number of bytes that are left.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Checks that the message ends here.
    pub(crate) fn finish(self) -> Result<(), PassError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        let found = format!("{} bytes after the end", self.rest.len());
        Err(PassError::malformed(self.what, found, "none"))
    }

    /// The error for a message that ends too early.
    fn ends(&self) -> PassError {
        let found = format!("{} bytes at the end", self.rest.len());
        PassError::malformed(self.what, found, "more")
    }
}
