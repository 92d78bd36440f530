//! Codes of differences, bit by bit.

/// A writer of one block's code, least significant bit of a byte first.
#[derive(Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    /// Number of bits written.
    at: usize,
}

impl BitWriter {
    /// Forgets what was written.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.at = 0;
    }

    /// Writes a difference: its high part in unary, then its `low` low bits.
    pub(super) fn difference(&mut self, value: u64, low: u8) {
        for _ in 0..value >> low {
            self.bit(true);
        }
        self.bit(false);
        for place in 0..low {
            self.bit(value >> place & 1 == 1);
        }
    }

    /// Fills the last byte with ones, and returns the code.
    pub(super) fn finish(&mut self) -> &[u8] {
        while !self.at.is_multiple_of(8) {
            self.bit(true);
        }
        &self.bytes
    }

    fn bit(&mut self, bit: bool) {
        if self.at.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (self.at % 8);
        }
        self.at += 1;
    }
}

/// A reader of the code that a [`BitWriter`] wrote.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    /// Number of bits read.
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Reads the unary part of a difference; `None` at the end of the code.
    pub(super) fn high(&mut self) -> Option<u64> {
        let mut high = 0;
        while self.bit()? {
            high += 1;
        }
        Some(high)
    }

    /// Reads the `low` low bits of a difference; `None` if the code ends before.
    pub(super) fn low(&mut self, low: u8) -> Option<u64> {
        let mut value = 0;
        for place in 0..low {
            value |= u64::from(self.bit()?) << place;
        }
        Some(value)
    }

    fn bit(&mut self) -> Option<bool> {
        let byte = self.bytes.get(self.at / 8)?;
        let bit = byte >> (self.at % 8) & 1 == 1;
        self.at += 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn differences_are_read_as_written(
            values in prop::collection::vec(0..5000_u64, 0..40),
            low in 4..=24_u8,
        ) {
            let mut writer = BitWriter::default();
            for &value in &values {
                writer.difference(value, low);
            }
            let code = writer.finish().to_vec();

            let mut reader = BitReader::new(&code);
            for value in values {
                let high = reader.high();
                prop_assert_eq!(high, Some(value >> low));
                prop_assert_eq!(reader.low(low), Some(value & ((1 << low) - 1)));
            }
            prop_assert_eq!(reader.high(), None);
        }

        #[test]
        fn reading_ends_with_the_bytes(
            code in prop::collection::vec(any::<u8>(), 0..50),
            low in 4..=24_u8,
        ) {
            let mut reader = BitReader::new(&code);
            let mut read = 0;
            while let Some(high) = reader.high() {
                prop_assert!(high <= 8 * code.len() as u64);
                read += 1;
                if reader.low(low).is_none() {
                    break;
                }
            }
            prop_assert!(read <= 8 * code.len());
        }
    }
}
