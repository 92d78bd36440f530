//! Statement of a database's filter in its public part.

use papir_core::Result as CoreResult;
use papir_core::codec::{Reader, Writer};

use super::header::read_header;
use super::{PREFILTER_FORMATS, check_bits};

/// The filter of a database, as its public part states it. Clients verify the filter that they
/// fetch against the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefilterSummary {
    /// The bits: an absent key is found with probability 2^−bits.
    pub bits: u8,
    /// Length of the filter in bytes.
    pub bytes: u64,
    /// BLAKE3 of the filter.
    pub hash: [u8; 32],
}

impl PrefilterSummary {
    /// Length in bytes that a summary adds to a public part.
    pub const BYTES: u64 = 1 + 8 + 32;

    /// States a filter with this hash, whose header it reads.
    ///
    /// # Errors
    /// The errors of [`super::Prefilter::decode`] for the header alone.
    pub fn of(filter: &[u8], hash: [u8; 32]) -> CoreResult<Self> {
        let mut reader = Reader::new(PREFILTER_FORMATS.what, filter);
        let dimensions = read_header(&mut reader)?;
        Ok(Self {
            bits: dimensions.bits,
            bytes: filter.len() as u64,
            hash,
        })
    }

    /// Like [`PrefilterSummary::of`], and hashes the filter.
    ///
    /// # Errors
    /// The errors of [`PrefilterSummary::of`].
    pub fn hashed(filter: &[u8]) -> CoreResult<Self> {
        Self::of(filter, *blake3::hash(filter).as_bytes())
    }

    /// Appends bits, length and hash.
    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.u8(self.bits).u64(self.bytes).raw(&self.hash);
    }

    /// Reads what [`PrefilterSummary::write`] has written. The caller checks the bits, after the
    /// checksum.
    pub(crate) fn read(reader: &mut Reader<'_>) -> CoreResult<Self> {
        Ok(Self {
            bits: reader.u8()?,
            bytes: reader.u64()?,
            hash: reader.array()?,
        })
    }

    /// Checks the bits that a public part states.
    pub(crate) fn check(&self) -> CoreResult<()> {
        check_bits(self.bits)
    }
}
