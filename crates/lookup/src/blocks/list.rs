//! The values of a bundle's blocks.
//!
//! ```text
//! offset  bytes  field
//!      0      4  magic "PIRL"
//!      4      2  format version, 1
//!      6      1  log₂ of the length of a block
//!      7      1  0
//!      8      8  length of the bundle
//!     16    32n  values of the n blocks
//! ```
//! All numbers are little-endian. A block's value is BLAKE3's chaining value of the node that
//! covers it or, of a bundle of one block, its BLAKE3 hash. There is no checksum: joined, the
//! values give the hash of the bundle, which a signed leaf states.

use std::ops::Range;

use papir_core::codec::{Reader, Writer};
use papir_core::hash_tree::{self, BlockValue, HashTree, LEAST_BLOCK, VALUE_BYTES};
use papir_core::{Error as CoreError, Formats, parallel};

use super::ranges::BlockRanges;
use crate::bundle::check_beginning;
use crate::error::Result;

const MAGIC: [u8; 4] = *b"PIRL";
/// Format versions of lists of blocks.
pub const BLOCK_LIST_FORMATS: Formats = Formats {
    what: "a list of blocks",
    oldest: 1,
    written: 1,
    renew: "update the server that sent it",
};
/// Bytes before the values.
const HEADER_BYTES: usize = 16;
/// The square of a block's length is at least this number of times the length of the bundle. The
/// list and the blocks of a few changes are then of about the same length.
const BUNDLES_PER_SQUARE: u128 = 8;

/// Bytes of a block of a bundle of `length` bytes, a power of two. The last block may be shorter.
pub fn block_bytes(length: usize) -> usize {
    let mut block = LEAST_BLOCK;
    while (block as u128).pow(2) < BUNDLES_PER_SQUARE * length as u128 {
        block *= 2;
    }
    block
}

/// The values of all blocks of one bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockList {
    /// Bytes of the bundle.
    length: usize,
    /// Bytes of a block.
    block: usize,
    /// One value for each block, at least one.
    values: Vec<BlockValue>,
}

impl BlockList {
    /// Hashes the blocks of an encoded bundle on all cores.
    pub fn of(bundle: &[u8]) -> Self {
        let block = block_bytes(bundle.len());
        let HashTree { root, values } = HashTree::of(block, bundle);
        let values = match values.len() {
            0 => vec![root],
            _ => values,
        };

        Self {
            length: bundle.len(),
            block,
            values,
        }
    }

    /// Length in bytes of the encoded list for a bundle of `length` bytes.
    pub fn encoded_bytes(length: usize) -> usize {
        HEADER_BYTES + VALUE_BYTES * block_count(length)
    }

    /// Encodes the list.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer
            .raw(&MAGIC)
            .u16(BLOCK_LIST_FORMATS.written as u16)
            .u8(self.block.ilog2() as u8)
            .u8(0)
            .u64(self.length as u64);
        writer.raw(self.values.as_flattened());
        writer.finish()
    }

    /// Parses the list for a bundle of `length` bytes. Allocates no more than the bytes given.
    ///
    /// # Errors
    /// [`CoreError::Malformed`] (magic, byte 7), [`CoreError::Format`], [`CoreError::Length`], or
    /// [`CoreError::OutOfBounds`] for the list of a bundle of another length, or of other blocks.
    pub fn decode(bytes: &[u8], length: usize) -> Result<Self> {
        let mut reader = Reader::new(BLOCK_LIST_FORMATS.what, bytes);
        check_beginning(&mut reader, MAGIC, &BLOCK_LIST_FORMATS)?;

        let block = block_bytes(length);
        let log = reader.u8()?;
        let zero = reader.u8()?;
        let stated = reader.u64()?;
        check_number("log₂ of a block's length", log.into(), block.ilog2().into())?;
        check_number("byte 7 of a list of blocks", zero.into(), 0)?;
        check_number("the length of a bundle", stated, length as u64)?;

        let expected = Self::encoded_bytes(length);
        CoreError::check_length(BLOCK_LIST_FORMATS.what, bytes.len(), expected)?;

        let (values, _) = reader.rest().as_chunks::<VALUE_BYTES>();
        Ok(Self {
            length,
            block,
            values: values.to_vec(),
        })
    }

    /// BLAKE3 of the bundle whose blocks have these values.
    pub fn root(&self) -> [u8; 32] {
        let joined = hash_tree::root(self.block, &self.values, self.length as u64);
        // The value of an only block is the hash itself.
        joined.unwrap_or(self.values[0])
    }

    /// The number of blocks, at least one.
    pub fn blocks(&self) -> usize {
        self.values.len()
    }

    /// The blocks that `copy` lacks, which may be a bundle of any version and any length. They may
    /// be more than differ: a text of ranges has a greatest number of them.
    pub fn missing(&self, copy: &[u8]) -> BlockRanges {
        let parts = copy.chunks(self.block).take(self.blocks()).enumerate();
        let found = parallel::map(parts, |(index, bytes)| self.value(index, bytes));

        let mut runs: Vec<Range<usize>> = Vec::new();
        for (index, value) in self.values.iter().enumerate() {
            if found.get(index) == Some(value) {
                continue;
            }
            match runs.last_mut() {
                Some(run) if run.end == index => run.end += 1,
                _ => runs.push(index..index + 1),
            }
        }
        BlockRanges::joined(runs)
    }

    /// The places of some blocks in the bundle, in bytes, one for each range.
    pub fn places(&self, ranges: &BlockRanges) -> Vec<Range<usize>> {
        let mut places = Vec::with_capacity(ranges.as_slice().len());
        for range in ranges.as_slice() {
            let start = range.start * self.block;
            let end = range.end.saturating_mul(self.block).min(self.length);
            places.push(start..end);
        }
        places
    }

    /// The number of bytes of some blocks.
    pub fn bytes_of(&self, ranges: &BlockRanges) -> usize {
        self.places(ranges).iter().map(Range::len).sum()
    }

    /// The bundle, made of a copy and of the blocks that the copy lacks, one after another.
    ///
    /// # Errors
    /// [`CoreError::Length`] if the blocks do not have the length of these ranges, or if the copy
    /// ends before a block that no range has; [`CoreError::Checksum`] for a block that does not
    /// have its value. Blocks of the copy are not hashed again: `ranges` is that of
    /// [`BlockList::missing`].
    pub fn apply(&self, copy: &[u8], ranges: &BlockRanges, blocks: &[u8]) -> Result<Vec<u8>> {
        CoreError::check_length("a response of blocks", blocks.len(), self.bytes_of(ranges))?;
        // Only the last block of a bundle is shorter, and it is the last one here, too.
        let parts = ranges.indices().zip(blocks.chunks(self.block));
        parallel::try_map(parts, |(index, bytes)| self.check(index, bytes))?;

        let mut bundle = Vec::with_capacity(self.length);
        let mut rest = blocks;
        for place in self.places(ranges) {
            bundle.extend_from_slice(part(copy, bundle.len()..place.start)?);
            let (now, later) = rest.split_at(place.len());
            bundle.extend_from_slice(now);
            rest = later;
        }
        bundle.extend_from_slice(part(copy, bundle.len()..self.length)?);
        Ok(bundle)
    }

    /// Checks the bytes of a block.
    fn check(&self, index: usize, bytes: &[u8]) -> Result<(), CoreError> {
        if self.value(index, bytes) == self.values[index] {
            return Ok(());
        }
        Err(CoreError::Checksum {
            what: format!("block {index} of a bundle"),
        })
    }

    /// The value of bytes in the place of a block.
    fn value(&self, index: usize, bytes: &[u8]) -> BlockValue {
        if self.blocks() == 1 {
            return *blake3::hash(bytes).as_bytes();
        }
        hash_tree::value(self.block, index, bytes)
    }
}

/// The number of blocks of a bundle of `length` bytes, at least one.
fn block_count(length: usize) -> usize {
    length.div_ceil(block_bytes(length)).max(1)
}

/// Checks a number of a list.
fn check_number(what: &'static str, found: u64, expected: u64) -> Result<(), CoreError> {
    if found == expected {
        return Ok(());
    }
    Err(CoreError::out_of_bounds(what, found, expected))
}

/// A part of a copy.
fn part(copy: &[u8], place: Range<usize>) -> Result<&[u8], CoreError> {
    let end = place.end;
    // Between two ranges that meet, and behind a last one, there is nothing, also of a short copy.
    if place.is_empty() {
        return Ok(&[]);
    }
    copy.get(place).ok_or(CoreError::Length {
        what: "a copy of a public part",
        found: copy.len() as u64,
        expected: end as u64,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn bundle(length: usize) -> Vec<u8> {
        (0..length)
            .map(|index| (index / 3 + index / 1000) as u8)
            .collect()
    }

    #[test]
    fn blocks_are_about_as_long_as_the_list() {
        for (length, expected) in [
            (0, 1 << 10),
            (128 << 10, 1 << 10),
            ((128 << 10) + 1, 1 << 11),
            (112 << 20, 32 << 10),
            (1 << 30, 128 << 10),
        ] {
            assert_eq!(block_bytes(length), expected, "{length}");
        }
        assert_eq!(BlockList::encoded_bytes(112 << 20), 16 + 32 * 3584);
        assert_eq!(BlockList::encoded_bytes(0), 16 + 32);
    }

    #[test]
    fn golden_bytes_of_a_list() {
        let list = BlockList::of(&bundle(2100)).encode();
        let header = b"PIRL\x01\x00\x0a\x00\x34\x08\x00\x00\x00\x00\x00\x00";
        assert_eq!(list[..16], *header);
        assert_eq!(blake3::hash(&list).to_hex()[..16], *"ac003e4de997ea37");
    }

    #[test]
    fn the_root_is_the_hash_of_the_bundle() {
        for length in [0, 1, 1024, 1025, 5000, 300_000] {
            let bundle = bundle(length);
            let list = BlockList::of(&bundle);
            assert_eq!(list.root(), *blake3::hash(&bundle).as_bytes(), "{length}");

            let bytes = list.encode();
            assert_eq!(bytes.len(), BlockList::encoded_bytes(length));
            assert_eq!(BlockList::decode(&bytes, length).unwrap(), list);
        }
    }

    #[test]
    fn invalid_lists_are_refused_with_typed_errors() {
        let bytes = BlockList::of(&bundle(5000)).encode();
        for length in 0..bytes.len() {
            let refused = BlockList::decode(&bytes[..length], 5000).unwrap_err();
            assert_eq!(refused.code(), "wrong_length", "{length}");
        }

        let longer = [&bytes[..], &[0]].concat();
        let refused = BlockList::decode(&longer, 5000).unwrap_err();
        assert_eq!(refused.code(), "wrong_length");

        for (position, code) in [
            (0, "malformed"),
            (4, "malformed"),
            (6, "out_of_bounds"),
            (7, "out_of_bounds"),
            (8, "out_of_bounds"),
        ] {
            let mut other = bytes.clone();
            other[position] ^= 2;
            let refused = BlockList::decode(&other, 5000).unwrap_err();
            assert_eq!(refused.code(), code, "{position}");
        }

        let refused = BlockList::decode(&bytes, 4999).unwrap_err();
        assert_eq!(refused.code(), "out_of_bounds", "of another length");
    }

    #[test]
    fn a_changed_value_changes_the_root() {
        let list = BlockList::of(&bundle(5000));
        let bytes = list.encode();
        for position in [16, 47, 48, bytes.len() - 1] {
            let mut other = bytes.clone();
            other[position] ^= 1;
            let other = BlockList::decode(&other, 5000).unwrap();
            assert_ne!(other.root(), list.root(), "{position}");
        }
    }

    #[test]
    fn damaged_blocks_and_short_copies_are_refused() {
        let wanted = bundle(5000);
        let mut copy = wanted.clone();
        copy[1500] ^= 1;
        copy[4500] ^= 1;

        let list = BlockList::of(&wanted);
        let ranges = list.missing(&copy);
        assert_eq!(ranges.to_string(), "1,4");
        let blocks = [&wanted[1024..2048], &wanted[4096..]].concat();
        assert_eq!(list.apply(&copy, &ranges, &blocks).unwrap(), wanted);

        for position in [0, 1023, 1024, blocks.len() - 1] {
            let mut damaged = blocks.clone();
            damaged[position] ^= 1;
            let refused = list.apply(&copy, &ranges, &damaged).unwrap_err();
            assert_eq!(refused.code(), "checksum", "{position}");
        }
        for damaged in [&blocks[1..], &[], &[&blocks[..], &[0]].concat()] {
            let refused = list.apply(&copy, &ranges, damaged).unwrap_err();
            assert_eq!(refused.code(), "wrong_length", "{}", damaged.len());
        }
        let refused = list.apply(&copy[..3000], &ranges, &blocks).unwrap_err();
        assert_eq!(refused.code(), "wrong_length", "the copy is short");
    }
}
