//! Public layout of a keyword table.
//!
//! The layout maps keys to the indices of records. Its encoding:
//!
//! ```text
//! offset  bytes  field
//!      0      2  format version: 4 if the longest value has more than 65,536 bytes, else 3
//!      2     32  seed of the keys' ids
//!     34     32  placement seed
//!     66      4  regions r
//!     70      4  buckets per region
//!     74      4  pilots per region p
//!     78      4  length of a bucket
//!     82      4  records per lookup
//!     86      4  length of the longest value
//!     90      1  bytes of an entry's length field: 0 if all values have the same length
//!     91      4  maximum payload of an entry
//!     95      1  bytes of a tag, 4 to 8
//!     96    2rp  pilots, region by region
//! ```
//! All numbers are little-endian, all lengths in bytes. A bucket has its entries without gaps, and
//! zeros after them. An entry is a tag (never 0), the length of the value from this chunk on, and
//! the bytes of the chunk. All tags in a bucket differ.

use papir_core::codec::{Reader, Writer};
use papir_core::{Error as CoreError, Formats, MAX_RECORDS, Record, Shape};

use crate::bucket::{EntryFormat, LEAST_TAG_BYTES, TAG_BYTES};
use crate::dimensions::{Dimensions, MAX_BUCKET_BYTES, MAX_STORED_BYTES, number_bytes};
use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::hash::{KeyHash, SEED_BYTES, Seeds};
use crate::ids::KeyId;

/// Format versions of keyword layouts. The newest is written only for tables with a value longer
/// than 64 KiB, so that earlier releases read all other layouts.
pub const LAYOUT_FORMATS: Formats = Formats {
    what: "a keyword layout",
    oldest: 3,
    written: 4,
    renew: "build the snapshot again from its source: `papir build …`",
};
/// Length in bytes of the longest value of a layout in format 3: 64 KiB.
const LONGEST_OF_FORMAT_3: u32 = 1 << 16;

/// Bytes of an encoded layout before its pilots.
pub const LAYOUT_HEADER_BYTES: usize = 2 + 2 * SEED_BYTES + 6 * 4 + 1 + 4 + 1;
/// Bytes of an encoded pilot.
pub const PILOT_BYTES: usize = 2;

/// The public layout of a table: it determines the position of every key and the format of entries.
/// It is small: a few bytes for every region of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeywordLayout {
    pub(crate) seeds: Seeds,
    pub(crate) dimensions: Dimensions,
    pub(crate) longest: u32,
    pub(crate) grid: Grid,
    pub(crate) pilots: Vec<u16>,
}

impl KeywordLayout {
    /// Returns the number of records that a lookup of any key fetches.
    pub fn lookups(&self) -> usize {
        self.dimensions.lookups as usize
    }

    /// Number of records of the database.
    pub fn records(&self) -> u64 {
        self.grid.records()
    }

    /// Bytes of a record.
    pub fn record_bytes(&self) -> usize {
        self.dimensions.bucket_bytes as usize
    }

    /// Bytes of the longest value.
    pub fn longest_value(&self) -> usize {
        self.longest as usize
    }

    /// Bytes of a stored tag.
    pub(crate) fn tag_bytes(&self) -> u64 {
        self.dimensions.format.tag_bytes.into()
    }

    /// Checks the shape of a database against this layout.
    pub(crate) fn check_shape(&self, shape: &Shape) -> Result<()> {
        if self.records() == shape.records() && self.record_bytes() == shape.record_bytes() {
            return Ok(());
        }
        let found = shape_words(self.records(), self.record_bytes());
        let expected = shape_words(shape.records(), shape.record_bytes());
        Err(CoreError::malformed("a keyword layout", found, expected).into())
    }

    /// log₂ of the probability that a lookup finds an absent key, whose tag is compared with every
    /// entry of one bucket. A collision of the 128-bit ids is at least 2³² times less likely.
    pub fn false_positive_log2(&self) -> f64 {
        let format = &self.dimensions.format;
        (format.slots(self.record_bytes()) as f64).log2() + format.equal_tag_log2()
    }

    /// The indices of the [`KeywordLayout::lookups`] records to fetch for a key, in order. Reads
    /// every pilot for each of them, so that no memory address depends on the key.
    pub fn indices(&self, key: &[u8]) -> Vec<u64> {
        self.indices_of(&self.seeds.id(key))
    }

    /// Like [`KeywordLayout::indices`], for the id of a key.
    pub(crate) fn indices_of(&self, id: &KeyId) -> Vec<u64> {
        (0..self.dimensions.lookups)
            .map(|chunk| self.bucket(&self.seeds.chunk(id, chunk)))
            .collect()
    }

    /// The index of a chunk's bucket in the table. Reads every pilot, in constant time.
    fn bucket(&self, hash: &KeyHash) -> u64 {
        let pilot = select(&self.pilots, self.grid.pilot_slot(hash));
        self.grid.record(hash, pilot)
    }

    /// Like [`KeywordLayout::bucket`], but in variable time: the owner's keys are not secret.
    pub(crate) fn bucket_vartime(&self, hash: &KeyHash) -> u64 {
        let pilot = self.pilots[self.grid.pilot_slot(hash) as usize];
        self.grid.record(hash, pilot)
    }

    /// Like [`KeywordLayout::bucket_vartime`], but counted from the first bucket of the chunk's
    /// region.
    pub(crate) fn bucket_in_region_vartime(&self, hash: &KeyHash) -> u32 {
        let pilot = self.pilots[self.grid.pilot_slot(hash) as usize];
        self.grid.bucket(hash.bucket_hash, pilot)
    }

    /// Reads the value of a key from the records at its [`KeywordLayout::indices`]; `None` if the
    /// table does not have the key. Runs on the client, after decryption.
    ///
    /// # Errors
    /// [`CoreError::Length`] for a wrong number or length of records, [`CoreError::Malformed`] if a
    /// chunk of the value is missing.
    pub fn find(&self, key: &[u8], records: &[Record]) -> Result<Option<Vec<u8>>> {
        self.find_of(&self.seeds.id(key), records)
    }

    /// Like [`KeywordLayout::find`], for the id of a key.
    pub(crate) fn find_of(&self, id: &KeyId, records: &[Record]) -> Result<Option<Vec<u8>>> {
        self.check_records(records)?;

        let format = &self.dimensions.format;
        let mut value: Option<Vec<u8>> = None;
        let mut remaining = 0;
        for (chunk, record) in (0..).zip(records) {
            let tag = self.seeds.chunk(id, chunk).tag;
            let found = format.find_vartime(record, tag)?;

            // Each chunk states the bytes left, so a missing or foreign one shows by its number.
            match (chunk, found) {
                (0, None) => return Ok(None),
                (0, Some(part)) => remaining = part.remaining,
                _ if remaining == 0 => break,
                (_, Some(part)) if part.remaining == remaining => {}
                _ => return Err(missing_part(chunk)),
            }

            let payload = found.map_or(&[][..], |part| part.payload);
            remaining -= payload.len();
            value.get_or_insert_default().extend_from_slice(payload);
        }

        if remaining > 0 {
            return Err(missing_part(self.dimensions.lookups));
        }
        Ok(value)
    }

    /// Extends the layout to values of `length` bytes. Returns false if such values need a new
    /// table.
    pub(crate) fn admit(&mut self, length: usize) -> bool {
        let d = &mut self.dimensions;
        if d.format.length_bytes == 0 {
            // Without a length field all values have one length.
            return length == d.format.chunk_bytes as usize;
        }
        if number_bytes(length) > d.format.length_bytes {
            return false;
        }

        let most = match d.lookups {
            1 => d.bucket_bytes as usize - d.format.header_bytes(),
            several => several as usize * d.format.chunk_bytes as usize,
        };
        if length > most {
            return false;
        }

        // The chunks of cut values keep their length: entries in the table depend on it.
        if d.lookups == 1 {
            d.format.chunk_bytes = d.format.chunk_bytes.max(length as u32);
        }
        self.longest = self.longest.max(length as u32);
        true
    }

    fn check_records(&self, records: &[Record]) -> Result<()> {
        let what = "the records of one lookup, counted";
        CoreError::check_length(what, records.len(), self.lookups())?;

        let what = "a record of a keyword table";
        for record in records {
            CoreError::check_length(what, record.len(), self.record_bytes())?;
        }
        Ok(())
    }

    /// The format version in which this layout is written.
    fn format_version(&self) -> u32 {
        if self.longest > LONGEST_OF_FORMAT_3 {
            LAYOUT_FORMATS.written
        } else {
            LAYOUT_FORMATS.oldest
        }
    }

    /// Encodes the layout.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer
            .u16(self.format_version() as u16)
            .raw(&self.seeds.ids)
            .raw(&self.seeds.placement);

        writer
            .u32(self.grid.regions)
            .u32(self.grid.buckets)
            .u32(self.grid.pilots);
        writer
            .u32(self.dimensions.bucket_bytes)
            .u32(self.dimensions.lookups)
            .u32(self.longest);

        let EntryFormat {
            tag_bytes,
            length_bytes,
            chunk_bytes,
        } = self.dimensions.format;
        writer.u8(length_bytes).u32(chunk_bytes).u8(tag_bytes);

        for &pilot in &self.pilots {
            writer.u16(pilot);
        }
        writer.finish()
    }

    /// Parses and checks a layout. Allocates no more than the bytes given.
    ///
    /// # Errors
    /// [`CoreError::Format`], [`CoreError::Length`], or [`CoreError::OutOfBounds`] for a field out
    /// of bounds.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a keyword layout", bytes);
        let version = u32::from(reader.u16()?);
        LAYOUT_FORMATS.check(version)?;
        let mut layout = Self::decode_header(&mut reader)?;

        // An odd last byte makes a pilot of its own, which the check of the length refuses.
        let pilots = reader.rest();
        layout.pilots = pilots
            .chunks(PILOT_BYTES)
            .map(|pair| u16::from_le_bytes([pair[0], pair[pair.len() - 1]]))
            .collect();

        layout.check_grid(pilots.len())?;
        layout.check_longest(version)?;
        layout.check_lengths()?;
        layout.check_lookups()?;
        layout.check_reads()?;
        Ok(layout)
    }

    /// Reads the fields between format version and pilots, without checks. The layout has no pilots
    /// yet.
    fn decode_header(reader: &mut Reader<'_>) -> Result<Self> {
        let seeds = Seeds {
            ids: reader.array()?,
            placement: reader.array()?,
        };
        let grid = Grid {
            regions: reader.u32()?,
            buckets: reader.u32()?,
            pilots: reader.u32()?,
        };

        let bucket_bytes = reader.u32()?;
        let lookups = reader.u32()?;
        let longest = reader.u32()?;
        let length_bytes = reader.u8()?;
        let chunk_bytes = reader.u32()?;
        let tag_bytes = reader.u8()?;
        let format = EntryFormat {
            tag_bytes,
            length_bytes,
            chunk_bytes,
        };
        let dimensions = Dimensions {
            format,
            bucket_bytes,
            lookups,
        };

        Ok(Self {
            seeds,
            dimensions,
            longest,
            grid,
            pilots: Vec::new(),
        })
    }

    /// Checks the numbers of buckets and pilots, and the length of the encoded pilots.
    fn check_grid(&self, pilot_bytes: usize) -> Result<()> {
        // Products of two 32-bit numbers: neither can overflow, whatever the bytes were.
        let buckets = self.grid.records();
        let pilots = self.grid.pilot_count();
        within("the buckets of a keyword layout", buckets, 1, MAX_RECORDS)?;
        within("the pilots of a keyword layout", pilots, 1, u32::MAX.into())?;

        let found = pilot_bytes as u64;
        let expected = PILOT_BYTES as u64 * pilots;
        if found != expected {
            return Err(CoreError::Length {
                what: "the pilots of a keyword layout",
                found,
                expected,
            }
            .into());
        }
        Ok(())
    }

    /// Checks the length of the longest value. Each length has one format, so that each layout has
    /// one encoding.
    fn check_longest(&self, version: u32) -> Result<()> {
        let boundary = u64::from(LONGEST_OF_FORMAT_3);
        let allowed = if version == LAYOUT_FORMATS.oldest {
            0..=boundary
        } else {
            boundary + 1..=MAX_STORED_BYTES as u64
        };

        let what = "the longest value of a keyword layout";
        let found = self.longest.into();
        within(what, found, *allowed.start(), *allowed.end())
    }

    /// Checks the lengths of entries and buckets.
    fn check_lengths(&self) -> Result<()> {
        let format = &self.dimensions.format;
        let longest = self.longest.into();

        // The longest value has 2¹⁸ bytes, a number of three bytes.
        let length = format.length_bytes.into();
        within("the length field of a keyword layout", length, 0, 3)?;

        let chunk = format.chunk_bytes.into();
        within("the chunk length of a keyword layout", chunk, 0, longest)?;

        let tag = format.tag_bytes.into();
        let least = LEAST_TAG_BYTES.into();
        let most = TAG_BYTES.into();
        within("the tag length of a keyword layout", tag, least, most)?;

        let bucket = self.dimensions.bucket_bytes.into();
        let entry = format.entry_bytes(self.longest as usize) as u64;
        let most = MAX_BUCKET_BYTES.into();
        within("the bucket length of a keyword layout", bucket, entry, most)
    }

    /// Checks that a lookup fetches exactly the chunks of the longest value.
    fn check_lookups(&self) -> Result<()> {
        let format = &self.dimensions.format;
        let lookups = self.dimensions.lookups.into();

        // Chunks of length 0 hold only empty values; a range from 1 to 0 accepts no number.
        let chunks = if self.longest > 0 && format.chunk_bytes == 0 {
            0
        } else {
            format.chunks(self.longest as usize) as u64
        };
        let least = chunks.max(1);
        within("the lookups of a keyword layout", lookups, least, chunks)
    }

    /// Checks the work of a client, because a lookup reads every pilot for each of its records.
    pub(crate) fn check_reads(&self) -> Result<()> {
        let reads = self
            .grid
            .pilot_count()
            .saturating_mul(self.dimensions.lookups.into());
        within("the pilots that a lookup reads", reads, 1, u32::MAX.into())
    }
}

/// A number and a length of records in words, for an error.
fn shape_words(records: u64, bytes: usize) -> String {
    format!("{records} records of {bytes} bytes")
}

/// Checks that a number is from `least` to `most`.
pub(crate) fn within(what: &'static str, found: u64, least: u64, most: u64) -> Result<()> {
    if (least..=most).contains(&found) {
        return Ok(());
    }
    Err(CoreError::out_of_bounds(what, found, format!("{least} to {most}")).into())
}

fn missing_part(chunk: u32) -> Error {
    let found = format!("chunk {chunk} missing");
    let expected = "an entry that continues the value";
    CoreError::malformed("a value in a keyword table", found, expected).into()
}

/// Returns `values[wanted]`, or 0 beyond the end. Reads every value, so that no memory address
/// depends on `wanted`.
fn select(values: &[u16], wanted: u32) -> u16 {
    (0u32..).zip(values).fold(0, |selected, (i, &value)| {
        let difference = std::hint::black_box(i ^ wanted);
        // Subtracting 1 borrows into bit 63 only if the difference is 0; then the mask is all ones.
        let mask = (u64::from(difference).wrapping_sub(1) >> 63) as u16;
        selected | value & mask.wrapping_neg()
    })
}
