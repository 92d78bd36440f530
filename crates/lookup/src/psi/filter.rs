//! Compact filter of masked elements.
//!
//! The filter has sorted prefixes of names, as Golomb-Rice coded differences:
//!
//! ```text
//! count      8    number of values
//! bits       1    bits of a value
//! rice       1    low bits of a difference that are stored verbatim
//! code       …    each value's difference to the previous one, minus 1 (for the first, the value
//!                 itself): the part above `rice` bits in unary (ones, then a zero), then these
//!                 bits; least significant bit first
//! ```

use papir_core::codec::{Reader, Writer};
use papir_core::{Error, Result};

use super::mask::NAME_BYTES;

/// −log₂ of the bound on the probability that a receiver has a false positive among its elements.
const FALSE_LOG2: u32 = 40;
/// log₂ of the number of a receiver's elements for which [`FALSE_LOG2`] holds.
const RECEIVER_LOG2: u32 = 20;

/// A set of masked elements with a membership test. The probability of a false positive among 2²⁰
/// elements is at most 2⁻⁴⁰.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    bits: u32,
    /// The first `bits` bits of the names, ascending, each once.
    values: Vec<u128>,
}

impl Filter {
    /// Makes a filter of the names of masked elements.
    pub fn new<'a>(names: impl ExactSizeIterator<Item = &'a [u8; NAME_BYTES]>) -> Self {
        let mut bits = bits_of(names.len() as u64);
        let mut values: Vec<u128> = names.map(|name| first_bits(name, bits)).collect();
        values.sort_unstable();
        values.dedup();

        // If values coincided, fewer bits may be enough. Prefixes of sorted values stay sorted.
        while bits > bits_of(values.len() as u64) {
            let fewer = bits_of(values.len() as u64);
            for value in &mut values {
                *value >>= bits - fewer;
            }
            values.dedup();
            bits = fewer;
        }
        Self { bits, values }
    }

    /// Number of values: one per element, but fewer if the prefixes of some elements are equal.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns true if a name is in the set. Its time varies, because the receiver tests its own
    /// elements.
    pub fn contains_vartime(&self, name: &[u8; NAME_BYTES]) -> bool {
        self.values
            .binary_search(&first_bits(name, self.bits))
            .is_ok()
    }

    /// Estimates the length of an encoded filter of `count` elements, in bytes.
    pub fn expected_bytes(count: u64) -> u64 {
        // Differences have a mean of m·2^rice with 1 ≤ m < 2. Their unary part, with its zero, has
        // 1 + 1/(e^(1/m) − 1) bits on average: 1.58 for m = 1, and at most 2.54 (1.5 % of a value).
        let each = f64::from(rice_of(count, bits_of(count))) + 1.6;
        10 + (count as f64 * each / 8.0).ceil() as u64
    }

    /// Encodes the filter.
    pub fn encode(&self) -> Vec<u8> {
        let rice = rice_of(self.values.len() as u64, self.bits);
        let mut writer = Writer::new();
        writer
            .u64(self.values.len() as u64)
            .u8(self.bits as u8)
            .u8(rice as u8);

        let mut code = BitWriter::default();
        let mut next = 0;
        for &value in &self.values {
            code.rice(value - next, rice);
            next = value + 1;
        }
        writer.raw(&code.finish());
        writer.finish()
    }

    /// Decodes the result of [`Filter::encode`]. Allocates at most one value per bit of input.
    ///
    /// # Errors
    /// [`Error::Length`] for missing or additional bytes, [`Error::OutOfBounds`] for more values
    /// than the bytes can have, or [`Error::Malformed`] for other numbers of bits or a value beyond
    /// its bits.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a filter", bytes);
        let count = reader.u64()?;
        let bits = u32::from(reader.u8()?);
        let rice = u32::from(reader.u8()?);
        let code = reader.rest();
        let expected_bits = bits_of(count);
        let expected_rice = rice_of(count, expected_bits);

        // Before anything is allocated: each value takes its low bits and at least one bit of the
        // unary part.
        let least = u128::from(count) * u128::from(expected_rice + 1);
        if least > 8 * code.len() as u128 {
            let what = "the values of a filter";
            let expected = format!("as many as {} bytes hold", code.len());
            return Err(Error::out_of_bounds(what, count, expected));
        }
        if bits != expected_bits || rice != expected_rice {
            let found = format!("{bits}, {rice} of them low, for {count} values");
            let expected = format!("{expected_bits}, {expected_rice}");
            return Err(Error::malformed("the bits of a filter", found, expected));
        }

        let mut code = BitReader { bytes: code, at: 0 };
        let mut values = Vec::with_capacity(count as usize);
        let mut next = 0u128;
        for _ in 0..count {
            let value = next
                .checked_add(code.rice(rice, bits)?)
                .filter(|value| value >> bits == 0);
            let Some(value) = value else {
                return Err(Error::malformed(
                    "a filter",
                    "a value beyond its bits",
                    bits,
                ));
            };
            values.push(value);
            next = value + 1;
        }
        code.finish()?;
        Ok(Self { bits, values })
    }
}

/// Number of bits of a value in a filter of `count` values, for its rate of false positives.
fn bits_of(count: u64) -> u32 {
    log2_up(count) + FALSE_LOG2 + RECEIVER_LOG2
}

/// Number of low bits of a difference that are stored verbatim: log₂ of the mean difference,
/// rounded down.
fn rice_of(count: u64, bits: u32) -> u32 {
    bits - log2_up(count)
}

/// ⌈log₂ count⌉.
fn log2_up(count: u64) -> u32 {
    u64::BITS - count.saturating_sub(1).leading_zeros()
}

/// The first `bits` bits of a name, as a number.
fn first_bits(name: &[u8; NAME_BYTES], bits: u32) -> u128 {
    let first = name
        .first_chunk()
        .map_or(0, |bytes| u128::from_be_bytes(*bytes));
    first >> (u128::BITS - bits)
}

/// A writer of bits, least significant bit of a byte first.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    /// Number of bits written.
    at: usize,
}

impl BitWriter {
    fn bit(&mut self, bit: bool) {
        if self.at.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (self.at % 8);
        }
        self.at += 1;
    }

    /// Writes a value: its high part in unary, then its `rice` low bits.
    fn rice(&mut self, value: u128, rice: u32) {
        for _ in 0..value >> rice {
            self.bit(true);
        }
        self.bit(false);
        for i in 0..rice {
            self.bit(value >> i & 1 == 1);
        }
    }

    fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// A reader of the bits that a [`BitWriter`] wrote.
struct BitReader<'a> {
    bytes: &'a [u8],
    /// Number of bits read.
    at: usize,
}

impl BitReader<'_> {
    fn bit(&mut self) -> Result<bool> {
        let Some(byte) = self.bytes.get(self.at / 8) else {
            let found = 8 * self.bytes.len() as u64;
            return Err(Error::Length {
                what: "the code of a filter, in bits",
                found,
                expected: found + 1,
            });
        };
        let bit = byte >> (self.at % 8) & 1 == 1;
        self.at += 1;
        Ok(bit)
    }

    /// Reads a value below 2 · 2^`bits`; the caller checks the exact bound.
    fn rice(&mut self, rice: u32, bits: u32) -> Result<u128> {
        let mut value = 0;
        while self.bit()? {
            value += 1u128;
            // The bound ends a code of ones, and keeps the shift below within 128 bits.
            if value >> (bits - rice) > 1 {
                let found = "a difference beyond its bits";
                return Err(Error::malformed("a filter", found, bits));
            }
        }

        value <<= rice;
        for i in 0..rice {
            value |= u128::from(self.bit()?) << i;
        }
        Ok(value)
    }

    /// Checks that the rest of the last byte is zero, and that no bytes follow.
    fn finish(mut self) -> Result<()> {
        Error::check_length(
            "the code of a filter",
            self.bytes.len(),
            self.at.div_ceil(8),
        )?;

        while !self.at.is_multiple_of(8) {
            if self.bit()? {
                return Err(Error::malformed("the end of a filter", "a bit", "zeros"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_reference::vectors::rows;
    use proptest::prelude::*;

    use super::*;

    const VECTORS: &str = include_str!("../../../../docs/vectors/arithmetic/lookup.json");

    #[test]
    fn bits_of_values_are_those_of_the_definition() {
        for [count, expected] in rows::<2>(VECTORS, "filter.bits") {
            let bits = bits_of(count as u64);
            assert_eq!(i128::from(bits), expected, "{count}");
            assert_eq!(rice_of(count as u64, bits), 60, "{count}");
        }
    }

    fn names(count: u64) -> Vec<[u8; NAME_BYTES]> {
        (0..count)
            .map(|i| *blake3::hash(&i.to_le_bytes()).as_bytes())
            .collect()
    }

    #[test]
    fn filters_contain_their_elements_and_no_others() {
        for count in [0, 1, 2, 3, 1000, 4097] {
            let names = names(count + 1000);
            let (inside, outside) = names.split_at(count as usize);
            let filter = Filter::new(inside.iter());
            let bytes = filter.encode();
            let decoded = Filter::decode(&bytes).unwrap();
            assert_eq!(decoded, filter);
            assert!(inside.iter().all(|name| decoded.contains_vartime(name)));
            assert!(!outside.iter().any(|name| decoded.contains_vartime(name)));
            let expected = Filter::expected_bytes(count) as f64;
            assert!(
                (bytes.len() as f64 - expected).abs() < 12.0 + 0.02 * expected,
                "{count}: {}",
                bytes.len()
            );
        }
    }

    #[test]
    fn golden_bytes_of_a_filter() {
        let bytes = Filter::new(names(3).iter()).encode();
        assert_eq!(blake3::hash(&bytes).to_hex()[..16], *"1c797326f2b49d2a");
    }

    #[test]
    fn invalid_bytes_are_refused_with_typed_errors() {
        let bytes = Filter::new(names(50).iter()).encode();
        for length in 0..bytes.len() {
            assert!(Filter::decode(&bytes[..length]).is_err(), "{length}");
        }
        assert_eq!(
            Filter::decode(&[&bytes[..], &[0]].concat())
                .unwrap_err()
                .code(),
            "wrong_length"
        );

        let mut many = bytes.clone();
        many[6] = 1;
        assert_eq!(Filter::decode(&many).unwrap_err().code(), "out_of_bounds");
        for (position, byte) in [(8, 0), (8, 121), (9, 0), (9, 61)] {
            let mut other = bytes.clone();
            other[position] = byte;
            assert_eq!(
                Filter::decode(&other).unwrap_err().code(),
                "malformed",
                "{position} {byte}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_reencode_equally(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(filter) = Filter::decode(&bytes) {
                prop_assert!(filter.values.is_sorted_by(|a, b| a < b));
                prop_assert_eq!(filter.encode(), bytes);
            }
        }
    }
}
