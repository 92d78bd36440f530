//! Filters of keys, and their test.

use papir_core::codec::Reader;
use papir_core::{Error as CoreError, Result as CoreResult};

use super::bits::BitReader;
use super::header::{Dimensions, read_header};
use super::summary::PrefilterSummary;
use super::{END_BYTES, HEADER_BYTES, PREFILTER_FORMATS};
use crate::ids::KeyId;
use crate::layout::KeywordLayout;

/// A filter of a database's keys, which stays encoded in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefilter {
    bytes: Vec<u8>,
    dimensions: Dimensions,
    /// Offset of the first code.
    codes: usize,
}

impl Prefilter {
    /// Takes an encoded filter. Reads its header and the ends of its blocks, and allocates nothing.
    ///
    /// # Errors
    /// [`CoreError::Malformed`] (magic, a byte that is not 0, ends that do not ascend or are not
    /// those of the bytes), [`CoreError::Format`], [`CoreError::Length`] for missing bytes, and
    /// [`CoreError::OutOfBounds`] for other bits than [`super::BITS`] and too many keys.
    pub fn decode(bytes: Vec<u8>) -> CoreResult<Self> {
        let mut reader = Reader::new(PREFILTER_FORMATS.what, &bytes);
        let dimensions = read_header(&mut reader)?;

        // Bounded by the bytes that are there, whatever number the header states.
        let ends = dimensions.blocks().saturating_mul(END_BYTES as u64);
        let ends = reader.raw(usize::try_from(ends).unwrap_or(usize::MAX))?;
        let codes = bytes.len() - reader.rest().len();
        check_ends(ends, bytes.len() - codes)?;

        Ok(Self {
            bytes,
            dimensions,
            codes,
        })
    }

    /// Takes the filter that a public part states.
    ///
    /// # Errors
    /// [`CoreError::Malformed`] for bytes with another hash or other bits, [`CoreError::Length`]
    /// for another length, and the errors of [`Prefilter::decode`].
    pub fn verified(bytes: Vec<u8>, stated: &PrefilterSummary) -> CoreResult<Self> {
        let expected = usize::try_from(stated.bytes).unwrap_or(usize::MAX);
        CoreError::check_length(PREFILTER_FORMATS.what, bytes.len(), expected)?;

        // Before a byte is decoded: only what the public part states reaches the decoder.
        let found = blake3::hash(&bytes);
        if found != stated.hash {
            let expected = blake3::Hash::from_bytes(stated.hash);
            return Err(CoreError::malformed(
                "the hash of a prefilter",
                found,
                format!("{expected}, as in the public part"),
            ));
        }

        let filter = Self::decode(bytes)?;
        if filter.bits() != stated.bits {
            let expected = format!("{}, as in the public part", stated.bits);
            let what = "the bits of a prefilter";
            return Err(CoreError::malformed(what, filter.bits(), expected));
        }
        Ok(filter)
    }

    /// The bits: an absent key is found with probability 2^−bits.
    pub fn bits(&self) -> u8 {
        self.dimensions.bits
    }

    /// Number of keys.
    pub fn keys(&self) -> u64 {
        self.dimensions.keys
    }

    /// The encoded filter.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns false only if the filter excludes a key of the table with this layout, whose ids it
    /// has. Decodes one block, in a time that depends on the key: a client tests its own keys, and
    /// sends nothing meanwhile.
    pub fn may_have_vartime(&self, layout: &KeywordLayout, key: &[u8]) -> bool {
        self.may_have_id_vartime(&layout.seeds.id(key))
    }

    /// Like [`Prefilter::may_have_vartime`], for the id of a key.
    pub(crate) fn may_have_id_vartime(&self, id: &KeyId) -> bool {
        if self.dimensions.keys == 0 {
            return false;
        }

        let fingerprint = self.dimensions.fingerprint(&id.0);
        let block = fingerprint >> self.dimensions.log_range();
        let wanted = fingerprint - (block << self.dimensions.log_range());
        let Some(code) = self.code(block) else {
            return true;
        };
        has_vartime(BitReader::new(code), self.dimensions.bits, wanted)
    }

    /// The code of a block; `None` if there is no such block.
    fn code(&self, block: u64) -> Option<&[u8]> {
        let block = usize::try_from(block).ok()?;
        let (ends, codes) = self.bytes.split_at_checked(self.codes)?;
        let ends = ends.get(HEADER_BYTES..)?;
        let (ends, _) = ends.as_chunks::<END_BYTES>();

        let start = match block.checked_sub(1) {
            Some(before) => u32::from_le_bytes(*ends.get(before)?),
            None => 0,
        };
        let end = u32::from_le_bytes(*ends.get(block)?);
        codes.get(start as usize..end as usize)
    }
}

/// Returns whether a block may have the fingerprint at `wanted` from the block's start.
fn has_vartime(mut code: BitReader<'_>, bits: u8, wanted: u64) -> bool {
    let mut found = 0_u64;
    while let Some(high) = code.high() {
        let Some(low) = code.low(bits) else {
            // No filter that papir writes: a block that does not decode excludes nothing.
            return true;
        };
        // A block has less than 2³² bytes, so that `high` has fewer than 36 bits.
        found = found.saturating_add(high << bits | low);
        if found >= wanted {
            return found == wanted;
        }
    }
    false
}

/// Checks that the ends of blocks ascend up to the length of all codes.
fn check_ends(ends: &[u8], codes: usize) -> CoreResult<()> {
    let (ends, _) = ends.as_chunks::<END_BYTES>();
    let mut last = 0;
    for end in ends {
        let end = u32::from_le_bytes(*end);
        if end < last {
            let expected = format!("at least {last}, the end of the block before");
            return Err(CoreError::malformed(
                "the end of a prefilter's block",
                end,
                expected,
            ));
        }
        last = end;
    }

    CoreError::check_length("the codes of a prefilter", codes, last as usize)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::{ID_BYTES, KeyIds};
    use crate::prefilter::{BITS, expected_bytes, of_ids, write};

    /// The next number of a generator (splitmix64), whose low bits are as random as its high ones.
    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = *state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Random ids, from a state.
    fn random_ids(count: usize, mut state: u64) -> Vec<KeyId> {
        let mut ids = Vec::with_capacity(count);
        for _ in 0..count {
            let mut id = [0; ID_BYTES];
            id[..8].copy_from_slice(&next(&mut state).to_be_bytes());
            ids.push(KeyId(id));
        }
        ids
    }

    fn sorted(mut ids: Vec<KeyId>) -> KeyIds {
        ids.sort_unstable();
        ids.dedup();
        KeyIds::of_sorted(ids)
    }

    #[test]
    fn golden_bytes_of_a_filter() {
        let ids = sorted(random_ids(3, 1));
        let filter = of_ids(4, &ids).unwrap();
        let header = b"PIRK\x01\x00\x04\x00\x03\0\0\0\0\0\0\0";
        assert_eq!(filter[..HEADER_BYTES], header[..]);
        assert_eq!(filter[HEADER_BYTES..], GOLDEN);
    }

    /// The end of the only block, and its code.
    const GOLDEN: [u8; 6] = [2, 0, 0, 0, 0x2d, 0xb4];

    #[test]
    fn every_key_is_in_its_filter() {
        for count in [1, 2, 255, 256, 257, 3000] {
            for bits in [4, 8, 24] {
                let ids = sorted(random_ids(count, count as u64));
                let filter = Prefilter::decode(of_ids(bits, &ids).unwrap()).unwrap();
                assert_eq!((filter.bits(), filter.keys()), (bits, count as u64));
                for id in ids.as_slice() {
                    assert!(filter.may_have_id_vartime(id), "{count} {bits}");
                }
            }
        }
    }

    #[test]
    fn the_extreme_ids_and_equal_fingerprints_are_in_the_filter() {
        let mut close = [0; ID_BYTES];
        close[ID_BYTES - 1] = 1;
        let ids = [[0; ID_BYTES], close, [255; ID_BYTES]].map(KeyId);
        let filter = of_ids(4, &sorted(ids.to_vec())).unwrap();
        let filter = Prefilter::decode(filter).unwrap();
        assert!(ids.iter().all(|id| filter.may_have_id_vartime(id)));

        let empty = of_ids(4, &sorted(Vec::new())).unwrap();
        assert_eq!(empty.len(), HEADER_BYTES);
        let empty = Prefilter::decode(empty).unwrap();
        assert!(!ids.iter().any(|id| empty.may_have_id_vartime(id)));
    }

    #[test]
    fn absent_keys_are_found_as_often_as_the_bits_say() {
        const KEYS: usize = 4000;
        const TESTS: usize = 40_000;
        for bits in [4, 6, 8] {
            let filter = of_ids(bits, &sorted(random_ids(KEYS, 3))).unwrap();
            let filter = Prefilter::decode(filter).unwrap();
            let absent = random_ids(TESTS, 0xabcd_ef00);
            let found = absent.iter().filter(|id| filter.may_have_id_vartime(id));
            let found = found.count() as f64;

            // Some keys share their fingerprints: the share of the range that is taken.
            let rate = -(-(-f64::from(bits)).exp2()).exp_m1();
            let mean = rate * TESTS as f64;
            // Both the keys and the tests are drawn.
            let spread = (mean * (1.0 + TESTS as f64 / KEYS as f64 * rate)).sqrt();
            let apart = (found - mean).abs();
            assert!(apart < 3.0 * spread, "{bits}: {found}, {mean}");
        }
    }

    #[test]
    fn a_filter_has_the_estimated_length() {
        for (bits, count) in [(4, 1000), (12, 20_000), (24, 20_000)] {
            let found = of_ids(bits, &sorted(random_ids(count, 9))).unwrap().len();
            let expected = expected_bytes(bits, count as u64) as f64;
            let apart = (found as f64 - expected).abs();
            assert!(apart < 8.0 + 0.02 * expected, "{found}");
        }
    }

    #[test]
    fn a_filter_that_is_not_stated_is_refused() {
        let bytes = of_ids(8, &sorted(random_ids(300, 5))).unwrap();
        let stated = PrefilterSummary::hashed(&bytes).unwrap();
        assert_eq!((stated.bits, stated.bytes), (8, bytes.len() as u64));
        Prefilter::verified(bytes.clone(), &stated).unwrap();

        for position in 0..bytes.len() {
            let mut other = bytes.clone();
            other[position] ^= 1;
            let error = Prefilter::verified(other, &stated).unwrap_err();
            assert_eq!(error.code(), "malformed", "{position}");
        }
        let error = Prefilter::verified(bytes[1..].to_vec(), &stated).unwrap_err();
        assert_eq!(error.code(), "wrong_length");

        let more = PrefilterSummary { bits: 9, ..stated };
        let error = Prefilter::verified(bytes, &more).unwrap_err().to_string();
        assert!(error.contains("9, as in the public part"), "{error}");
    }

    #[test]
    fn invalid_bytes_are_refused_with_typed_errors() {
        let bytes = of_ids(8, &sorted(random_ids(600, 5))).unwrap();
        for length in 0..bytes.len() {
            let cut = Prefilter::decode(bytes[..length].to_vec());
            assert_eq!(cut.unwrap_err().code(), "wrong_length", "{length}");
        }
        let long = Prefilter::decode([&bytes[..], &[0]].concat());
        assert_eq!(long.unwrap_err().code(), "wrong_length");

        for (position, byte, code) in [
            (0, b'X', "malformed"),
            (4, 2, "malformed"),
            (6, 3, "out_of_bounds"),
            (6, 25, "out_of_bounds"),
            (7, 1, "malformed"),
            // Many keys, whose ends are missing.
            (11, 1, "wrong_length"),
            (15, 1, "out_of_bounds"),
            // The first end, after the second.
            (HEADER_BYTES + 2, 1, "malformed"),
        ] {
            let mut other = bytes.clone();
            other[position] = byte;
            let error = Prefilter::decode(other).unwrap_err();
            assert_eq!(error.code(), code, "{position} {byte}");
        }
    }

    #[test]
    fn filters_of_other_bits_or_unsorted_ids_are_not_written() {
        let ids = sorted(random_ids(3, 1));
        for bits in [0, BITS.start() - 1, BITS.end() + 1, 255] {
            let error = of_ids(bits, &ids).unwrap_err();
            assert_eq!(error.code(), "out_of_bounds", "{bits}");
        }

        let mut encoded = ids.encode();
        let error = write(8, &encoded[1..], &mut Vec::new()).unwrap_err();
        assert_eq!(error.code(), "wrong_length");
        encoded[..ID_BYTES].fill(255);
        let error = write(8, &encoded, &mut Vec::new()).unwrap_err();
        assert_eq!(error.code(), "malformed");
    }

    proptest! {
        #[test]
        fn keys_of_any_ids_are_in_the_filter(
            ids in prop::collection::vec(any::<[u8; ID_BYTES]>(), 0..600),
            bits in 4..=24_u8,
        ) {
            let ids = sorted(ids.into_iter().map(KeyId).collect());
            let filter = Prefilter::decode(of_ids(bits, &ids).unwrap()).unwrap();
            prop_assert!(ids.as_slice().iter().all(|id| filter.may_have_id_vartime(id)));
        }

        #[test]
        fn any_bytes_are_refused_or_tested(
            code in prop::collection::vec(any::<u8>(), 0..100),
            keys in 0..600_u64,
            end in 0..100_u32,
            id in any::<[u8; ID_BYTES]>(),
        ) {
            let mut bytes = b"PIRK\x01\x00\x04\x00".to_vec();
            bytes.extend_from_slice(&keys.to_le_bytes());
            for block in 0..keys.div_ceil(256) {
                let end = if block == 0 { end } else { code.len() as u32 };
                bytes.extend_from_slice(&end.to_le_bytes());
            }
            bytes.extend_from_slice(&code);

            if let Ok(filter) = Prefilter::decode(bytes) {
                filter.may_have_id_vartime(&KeyId(id));
            }
        }
    }
}
