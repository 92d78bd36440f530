//! Hexadecimal digits, and a generator with given numbers.

use std::convert::Infallible;

use rand_core::{TryCryptoRng, TryRng};

/// Decodes hexadecimal digits.
pub(crate) fn from_hex(digits: &str) -> Vec<u8> {
    let byte = |place: usize| u8::from_str_radix(&digits[2 * place..2 * place + 2], 16).unwrap();
    (0..digits.len() / 2).map(byte).collect()
}

/// Decodes the digits of exactly `N` bytes.
pub(crate) fn array_from_hex<const N: usize>(digits: &str) -> [u8; N] {
    from_hex(digits).try_into().unwrap()
}

/// A generator that returns the numbers of a test vector in order.
pub(crate) struct ScriptedRng {
    rest: Vec<u8>,
}

impl ScriptedRng {
    /// A generator that returns these bytes.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { rest: bytes }
    }

    /// Returns true if all bytes were drawn.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

impl TryRng for ScriptedRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, target: &mut [u8]) -> Result<(), Infallible> {
        let drawn: Vec<u8> = self.rest.drain(..target.len()).collect();
        target.copy_from_slice(&drawn);
        Ok(())
    }
}

impl TryCryptoRng for ScriptedRng {}
