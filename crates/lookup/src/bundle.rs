//! Bundles: the public data of a database in one message.
//!
//! A bundle has the scheme's public part and the keyword layout. Clients fetch it once per version
//! of a database.
//!
//! ```text
//! offset  bytes  field
//!      0      4  magic "PIRB"
//!      4      2  format version: 2 of a database with a prefilter, else 1
//!      6      1  1 with a keyword layout, 0 without
//!      7      1  1 for a verifiable database, 0 otherwise
//!      8      8  length p of the public part
//!     16      p  the scheme's public part, an envelope
//!   16+p      8  length k of the keyword layout, 0 without one
//!   24+p      k  keyword layout
//! 24+p+k   0/32  top of the hash tree over all records, of a verifiable database
//!      …   41/0  of a database with a prefilter: its bits (1), its length (8) and its BLAKE3 (32)
//!      …      8  first 8 bytes of BLAKE3 over everything before
//! ```
//! All numbers are little-endian. The checksum detects accidental damage, not forgery.

use papir_core::codec::{Reader, Writer};
use papir_core::{Error as CoreError, Formats};

use crate::error::Result;
use crate::layout::KeywordLayout;
use crate::prefilter::PrefilterSummary;

const MAGIC: [u8; 4] = *b"PIRB";
/// Format versions of bundles. The newest is written only for databases with a prefilter, so that
/// earlier releases read all other bundles.
pub const BUNDLE_FORMATS: Formats = Formats {
    what: "a bundle",
    oldest: 1,
    written: 2,
    renew: "update the server that sent it",
};
/// The format of bundles without a prefilter.
const WITHOUT_PREFILTER: u16 = 1;
const CHECKSUM_BYTES: usize = 8;

/// The public data of one version of a database, from which a client is made: the scheme's public
/// part, the keyword layout and the top of the hash tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The scheme's public part in its envelope, as returned by `ErasedDatabase::public`.
    pub scheme_public: Vec<u8>,
    /// The layout of the keys; `None` if records are looked up by index.
    pub keyword: Option<KeywordLayout>,
    /// The top of the hash tree over all records; `None` if the database is not verifiable.
    pub commitment_top: Option<[u8; 32]>,
    /// The filter of the keys, which is fetched separately; `None` without one, and in the bundle
    /// of a delta, whose public part has the filter itself.
    pub prefilter: Option<PrefilterSummary>,
}

impl Bundle {
    /// Encodes the bundle.
    pub fn encode(&self) -> Vec<u8> {
        let keyword = self
            .keyword
            .as_ref()
            .map(KeywordLayout::encode)
            .unwrap_or_default();

        let format = match self.prefilter {
            Some(_) => BUNDLE_FORMATS.written as u16,
            None => WITHOUT_PREFILTER,
        };

        let mut writer = Writer::new();
        writer
            .raw(&MAGIC)
            .u16(format)
            .u8(self.keyword.is_some().into());
        writer.u8(self.commitment_top.is_some().into());
        writer.bytes(&self.scheme_public).bytes(&keyword);
        writer.raw(self.commitment_top.as_ref().map_or(&[], |top| &top[..]));
        if let Some(prefilter) = &self.prefilter {
            prefilter.write(&mut writer);
        }

        with_checksum(writer.finish())
    }

    /// Parses a bundle. Allocates no more than the bytes given.
    ///
    /// # Errors
    /// [`CoreError::Malformed`] (magic, flags), [`CoreError::Length`], [`CoreError::Format`],
    /// [`CoreError::Checksum`], [`CoreError::OutOfBounds`] for the bits of a prefilter, or the
    /// errors of [`KeywordLayout::decode`]. The scheme's public part is not checked here, but by
    /// the scheme.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a bundle", bytes);
        let format = check_beginning(&mut reader, MAGIC, &BUNDLE_FORMATS)?;

        let keyed = reader.u8()?;
        let verifiable = reader.u8()?;
        let scheme_public = reader.bytes()?;
        let keyword = reader.bytes()?;
        let commitment_top = if verifiable == 1 {
            Some(reader.array()?)
        } else {
            None
        };
        let prefilter = if format == WITHOUT_PREFILTER {
            None
        } else {
            Some(PrefilterSummary::read(&mut reader)?)
        };

        // Before the layout is decoded: damage must not show as an error of the layout.
        check_checksum(reader, bytes, BUNDLE_FORMATS.what)?;

        let keyword = match (keyed, verifiable, keyword) {
            (0, 0 | 1, []) => None,
            (1, 0 | 1, layout) => Some(KeywordLayout::decode(layout)?),
            _ => {
                let found = format!("{keyed} and {verifiable}");
                return Err(CoreError::malformed("a bundle's flags", found, "0 or 1 each").into());
            }
        };

        if let Some(prefilter) = &prefilter {
            prefilter.check()?;
            if keyword.is_none() {
                let found = "a prefilter without a layout of keys";
                return Err(CoreError::malformed("a bundle", found, "both").into());
            }
        }

        Ok(Self {
            scheme_public: scheme_public.to_vec(),
            keyword,
            commitment_top,
            prefilter,
        })
    }
}

/// Checks magic and format version, with which the bytes begin. Returns the format version.
pub(crate) fn check_beginning(
    reader: &mut Reader<'_>,
    magic: [u8; 4],
    formats: &Formats,
) -> Result<u16> {
    let found: [u8; 4] = reader.array()?;
    if found != magic {
        let found = papir_core::shown_bytes(&found);
        let expected = papir_core::shown_bytes(&magic);
        return Err(CoreError::malformed(formats.what, found, expected).into());
    }

    let format = reader.u16()?;
    formats.check(format.into())?;
    Ok(format)
}

/// Checks the checksum, with which the bytes end.
pub(crate) fn check_checksum(
    mut reader: Reader<'_>,
    bytes: &[u8],
    what: &'static str,
) -> Result<()> {
    let sum: [u8; CHECKSUM_BYTES] = reader.array()?;
    reader.finish()?;
    if sum != checksum(&bytes[..bytes.len() - CHECKSUM_BYTES]) {
        return Err(CoreError::Checksum {
            what: what.to_owned(),
        }
        .into());
    }
    Ok(())
}

/// Adds the checksum to an encoding.
pub(crate) fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum);
    bytes
}

/// The checksum of `bytes`: the first 8 bytes of their BLAKE3 hash.
fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut sum = [0; CHECKSUM_BYTES];
    sum.copy_from_slice(&blake3::hash(bytes).as_bytes()[..CHECKSUM_BYTES]);
    sum
}
