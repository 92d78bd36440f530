//! Public parts of deltas.
//!
//! Clients fetch the public part once per version of the delta. The base's public part stays the
//! same.
//!
//! ```text
//! offset  bytes  field
//!      0      4  magic "PIRD"
//!      4      2  format version: 2 with a prefilter, else 1
//!      6      8  version of the base
//!     14      8  number of records of base and delta together; 0 for a database with keys
//!     22      1  1 with a hash of the content, 0 without
//!     23   32/0  hash of the content of a signed delta whose records have no proofs
//!      .      8  length b of the bundle
//!      .      b  the delta's bundle
//!      .      8  length f of the prefilter of the changed keys, in format 2 only
//!      .      f  that prefilter
//!      .      8  first 8 bytes of BLAKE3 over everything before
//! ```
//! All numbers are little-endian. The checksum detects accidental damage, not forgery.

use papir_core::codec::{Reader, Writer};
use papir_core::{Error as CoreError, Formats, Version};

use crate::bundle::{Bundle, check_beginning, check_checksum, with_checksum};
use crate::error::Result;
use crate::prefilter::Prefilter;

const MAGIC: [u8; 4] = *b"PIRD";
/// Format versions of deltas' public parts. The newest is written only beside a base with a
/// prefilter, so that earlier releases read all other deltas.
pub const DELTA_FORMATS: Formats = Formats {
    what: "a delta",
    oldest: 1,
    written: 2,
    renew: "update the server that sent it",
};
/// The format of deltas without a prefilter.
const WITHOUT_PREFILTER: u16 = 1;

/// The public data of a delta, from which its client is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeltaPart {
    /// The version of the base.
    pub base: Version,
    /// Number of records of base and delta together; `None` for a database with keys.
    pub records: Option<u64>,
    /// A hash of the prepared delta, which its owner states. It identifies the content, but clients
    /// cannot check records against it. `None` if the delta is not signed, or its records have
    /// proofs.
    pub content: Option<[u8; 32]>,
    /// The bundle with the delta's public part and layout, and the top of the hash tree over its
    /// records if the base is verifiable.
    pub bundle: Bundle,
    /// The filter of the changed keys, also of those that the delta removes, beside a base with a
    /// filter. It is part of the public part, since a delta is small.
    pub prefilter: Option<Prefilter>,
}

impl DeltaPart {
    /// Encodes the public part.
    pub fn encode(&self) -> Vec<u8> {
        let format = match self.prefilter {
            Some(_) => DELTA_FORMATS.written as u16,
            None => WITHOUT_PREFILTER,
        };

        let mut writer = Writer::new();
        writer.raw(&MAGIC).u16(format).raw(&self.base.0);
        writer
            .u64(self.records.unwrap_or(0))
            .u8(self.content.is_some().into());
        writer
            .raw(self.content.as_ref().map_or(&[], |hash| &hash[..]))
            .bytes(&self.bundle.encode());
        if let Some(prefilter) = &self.prefilter {
            writer.bytes(prefilter.as_bytes());
        }

        with_checksum(writer.finish())
    }

    /// Parses a public part. Allocates no more than the bytes given.
    ///
    /// # Errors
    /// [`CoreError::Malformed`] (magic, flag, or a bundle without layout or with a prefilter),
    /// [`CoreError::Length`], [`CoreError::Format`], [`CoreError::Checksum`], or the errors of
    /// [`Bundle::decode`] and [`Prefilter::decode`].
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a delta", bytes);
        let format = check_beginning(&mut reader, MAGIC, &DELTA_FORMATS)?;

        let base = Version(reader.array()?);
        let records = reader.u64()?;
        let content = match reader.u8()? {
            0 => None,
            1 => Some(reader.array()?),
            other => {
                let found = format!("the flag {other}");
                return Err(CoreError::malformed("a delta", found, "0 or 1").into());
            }
        };
        let bundle = reader.bytes()?;
        let prefilter = if format == WITHOUT_PREFILTER {
            None
        } else {
            Some(reader.bytes()?)
        };

        // Before the bundle is decoded: damage must not show as an error of the bundle.
        check_checksum(reader, bytes, DELTA_FORMATS.what)?;

        let bundle = Bundle::decode(bundle)?;
        if bundle.keyword.is_none() {
            return Err(CoreError::malformed("a delta's bundle", "no layout", "a layout").into());
        }
        if bundle.prefilter.is_some() {
            let expected = "none: a delta has its own";
            return Err(CoreError::malformed("a delta's bundle", "a prefilter", expected).into());
        }
        let prefilter = match prefilter {
            Some(bytes) => Some(Prefilter::decode(bytes.to_vec())?),
            None => None,
        };

        Ok(Self {
            base,
            // No database has 0 records, so 0 stands for a database with keys.
            records: Some(records).filter(|&records| records > 0),
            content,
            bundle,
            prefilter,
        })
    }
}
