//! Packed records, compressed in blocks.
//!
//! ```text
//! lengths   4 bytes for each block
//! blocks    one after the other
//! ```
//!
//! A block holds [`BLOCK_BYTES`] of the packed records; the last block holds the rest. It is a
//! DEFLATE stream (RFC 1951) if the stream is shorter than the bytes themselves, else the bytes: a
//! block of the same length as its content is not compressed. All threads pack and unpack blocks,
//! and an update packs only the blocks that changed.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::ops::Range;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use papir_core::codec::Reader;
use papir_core::{
    AlignedBytes, Blob, Change, Error, Progress, Records, Result, Shape, check_read, copy_packed,
    parallel,
};

use crate::shared::stored_records;

/// Bytes of packed records in a block.
pub(super) const BLOCK_BYTES: usize = 1 << 20;
/// Number of bytes at the start of a block that are compressed first. They decide if compressing
/// the rest is worth the time.
const PROBE_BYTES: usize = 1 << 16;
/// Bytes of an encoded length of a block.
const LENGTH_BYTES: usize = 4;

/// Number of parts of the records that [`estimate`] compresses.
const SAMPLES: u64 = 16;

/// Estimates the bytes of the blocks that hold these records. If there are many records, it
/// compresses parts of them only.
///
/// # Errors
/// The errors of the source.
pub fn estimate(records: &dyn Records) -> Result<u64> {
    let shape = records.shape();
    let total = records.shape().total_bytes();

    // Eight records end at a byte, whatever their length.
    let run = (8 * PROBE_BYTES as u64 / shape.record_bits())
        .next_multiple_of(8)
        .max(8);

    let mut read = 0;
    let mut compressed = 0;
    for i in 0..SAMPLES {
        let first = (shape.records() / SAMPLES * i)
            .next_multiple_of(8)
            .min(shape.records());
        let count = run.min(shape.records() - first);

        let mut part = vec![0; (count * shape.record_bits()).div_ceil(8) as usize];
        records.read_packed(first, count, &mut part)?;
        read += part.len();
        compressed += deflated(&part).len();
    }

    // Parameters refuse a length beyond these bounds, so an estimate stays within them.
    let blocks = total as f64 * compressed as f64 / read.max(1) as f64;
    Ok((blocks as u64)
        .saturating_add(count(total) * LENGTH_BYTES as u64)
        .clamp(shortest(total), longest(total)))
}

/// Packed records, compressed in blocks.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    shape: Shape,
    bytes: Blob,
    /// The range of each block in `bytes`.
    places: Vec<Range<usize>>,
}

/// Returns the number of blocks for `total` bytes of records.
fn count(total: u64) -> u64 {
    total.div_ceil(BLOCK_BYTES as u64)
}

/// Returns the least number of bytes that blocks of `total` bytes of records can have.
pub(super) fn shortest(total: u64) -> u64 {
    count(total) * (LENGTH_BYTES as u64 + 1)
}

/// Returns the largest number of bytes that blocks of `total` bytes of records can have: no block
/// is compressed.
pub(super) fn longest(total: u64) -> u64 {
    count(total) * LENGTH_BYTES as u64 + total
}

impl Blocks {
    /// Compresses all records.
    pub(super) fn pack(
        scheme: &'static str,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let shape = records.shape();
        let packed = stored_records::copy(scheme, shape, records, progress)?;

        progress.stage("compress", count(shape.total_bytes()));
        let blocks = parallel::map(packed.chunks(BLOCK_BYTES), |content| {
            progress.advance(1);
            deflated(content)
        });

        Self::join(shape, &blocks)
    }

    /// Joins blocks, one after the other, behind their lengths.
    fn join<B: AsRef<[u8]>>(shape: Shape, blocks: &[B]) -> Result<Self> {
        let lengths = blocks
            .iter()
            .flat_map(|block| (block.as_ref().len() as u32).to_le_bytes());
        let mut bytes: Vec<u8> = lengths.collect();
        for block in blocks {
            bytes.extend_from_slice(block.as_ref());
        }

        // Parsed as received bytes are, so that both ways to a value check the same.
        Self::parse(shape, Blob::copy_of(&bytes))
    }

    /// Reads the lengths of blocks. Bytes that do not have these lengths are refused, and so is a
    /// block that is empty or longer than its content.
    pub(super) fn parse(shape: Shape, bytes: Blob) -> Result<Self> {
        let total = shape.total_bytes() as usize;
        let mut reader = Reader::new("the lengths of download's blocks", &bytes);
        // Every length is checked against its content before it is added: the sum is at most
        // `longest`.
        let mut start = count(total as u64) as usize * LENGTH_BYTES;
        let mut places = Vec::new();

        for first in (0..total).step_by(BLOCK_BYTES) {
            let content = BLOCK_BYTES.min(total - first);
            let length = reader.u32()? as usize;
            if length == 0 || length > content {
                let expected = format!("1 to {content} bytes");
                return Err(Error::out_of_bounds(
                    "the length of a block",
                    length as u64,
                    expected,
                ));
            }

            places.push(start..start + length);
            start += length;
        }

        Error::check_length("download's blocks", bytes.len(), start)?;
        Ok(Self {
            shape,
            bytes,
            places,
        })
    }

    /// Returns all bytes: lengths and blocks.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Unpacks all records. A block that does not hold exactly its part of the records is refused.
    pub(super) fn unpack(&self) -> Result<Blob> {
        let mut packed = AlignedBytes::zeroed(self.shape.total_bytes() as usize);
        self.unpack_from(0, packed.bytes_mut())?;
        Ok(packed.into())
    }

    /// Unpacks whole blocks from block `first` on, until `out` is full.
    fn unpack_from(&self, first: usize, out: &mut [u8]) -> Result<()> {
        let parts = out.chunks_mut(BLOCK_BYTES).zip(&self.places[first..]);
        parallel::try_for_each(parts, |(content, place)| {
            inflate(&self.bytes[place.clone()], content)
        })
    }

    /// Reads a range of records, as [`Records::read_packed`] does.
    pub(super) fn read(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let bits = self.shape.record_bits();
        let total = self.shape.total_bytes() as usize;
        check_read(&self.shape, first, count, out.len())?;
        if count == 0 {
            return Ok(());
        }

        // Whole blocks are unpacked, from the one with the first record to the one with the last.
        let start = (first * bits / 8) as usize;
        let block = start / BLOCK_BYTES;
        let end = (start + out.len()).next_multiple_of(BLOCK_BYTES).min(total);
        let mut unpacked = vec![0; end - block * BLOCK_BYTES];
        self.unpack_from(block, &mut unpacked)?;

        let records = Shape::new(count, bits)?;
        copy_packed(
            &records,
            &unpacked[start - block * BLOCK_BYTES..],
            0,
            count,
            out,
        )
    }

    /// Returns the indices of the blocks that hold changed records.
    pub(super) fn changed(&self, changes: &[Change]) -> BTreeSet<usize> {
        let bits = self.shape.record_bits();

        let mut blocks = BTreeSet::new();
        for change in changes {
            let first = block_of_bit(change.index * bits);
            let last = block_of_bit((change.index + 1) * bits - 1);
            blocks.extend(first..=last);
        }

        blocks
    }

    /// Returns the blocks after changes. The changes must fit the shape.
    pub(super) fn update(&self, changes: &[Change], progress: &dyn Progress) -> Result<Self> {
        let changed = self.changed(changes);
        let packed = stored_records::change(self.shape, &self.unpack()?, changes)?;

        progress.stage("compress", changed.len() as u64);
        let contents = packed.chunks(BLOCK_BYTES).zip(&self.places).enumerate();
        let blocks = parallel::map(contents, |(i, (content, place))| {
            // Blocks are compressed independently, so the bytes of an unchanged one stay valid.
            if !changed.contains(&i) {
                return self.bytes[place.clone()].to_vec();
            }
            progress.advance(1);
            deflated(content)
        });

        Self::join(self.shape, &blocks)
    }
}

/// Returns the index of the block that holds a bit of the packed records.
fn block_of_bit(bit: u64) -> usize {
    (bit / 8) as usize / BLOCK_BYTES
}

/// Makes a block from its content, compressed if that is shorter.
fn deflated(content: &[u8]) -> Vec<u8> {
    // A sixteenth of a block decides, so that records that do not compress take a sixteenth of the
    // time.
    let probe = &content[..PROBE_BYTES.min(content.len())];
    if shorter(probe).is_none() {
        return content.to_vec();
    }

    shorter(content).unwrap_or_else(|| content.to_vec())
}

/// Compresses bytes to a DEFLATE stream. Returns `None` if the stream is not shorter.
fn shorter(bytes: &[u8]) -> Option<Vec<u8>> {
    let deflated = deflate(bytes);
    (deflated.len() < bytes.len()).then_some(deflated)
}

/// Compresses bytes to a DEFLATE stream.
fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail; an empty stream would be found when it is read.
    let written = encoder.write_all(content).and_then(|()| encoder.finish());
    written.unwrap_or_else(|_| content.to_vec())
}

/// Unpacks a block to `content`, which it must fill exactly.
fn inflate(block: &[u8], content: &mut [u8]) -> Result<()> {
    // A compressed block is always shorter: one as long as its content is not compressed.
    if block.len() == content.len() {
        content.copy_from_slice(block);
        return Ok(());
    }

    let length = content.len();
    let mut decoder = DeflateDecoder::new(block);
    decoder
        .read_exact(content)
        .map_err(|error| malformed_block(length, error))?;

    // A stream that goes on after the content, or ends before the block does, is not the block that
    // packing makes of the content.
    let more = decoder
        .read(&mut [0])
        .map_err(|error| malformed_block(length, error))?;
    if more > 0 || decoder.total_in() as usize != block.len() {
        return Err(malformed_block(length, "more bytes"));
    }

    Ok(())
}

fn malformed_block(length: usize, found: impl ToString) -> Error {
    Error::malformed(
        "a block of download",
        found,
        format!("{length} bytes, compressed"),
    )
}
