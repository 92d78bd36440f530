//! The public part of a delta.
//!
//! Clients fetch it once per version of the delta, beside the base's, which stays the same.
//!
//! ```text
//! offset  bytes  field
//!      0      4  magic "PIRD"
//!      4      2  format version, 1
//!      6      8  version of the base
//!     14      8  number of records of base and delta together; 0 for a database with keys
//!     22      8  length b of the bundle
//!     30      b  the delta's bundle
//!   30+b      8  first 8 bytes of BLAKE3 over everything before
//! ```
//! All numbers are little-endian. The checksum detects accidental damage, not forgery.

use papir_core::codec::{Reader, Writer};
use papir_core::{Error as CoreError, Formats, Version};

use crate::bundle::{Bundle, CHECKSUM_BYTES, checksum};
use crate::error::Result;

const MAGIC: [u8; 4] = *b"PIRD";
/// Format versions of deltas' public parts.
pub const DELTA_FORMATS: Formats =
    Formats { what: "a delta", oldest: 1, written: 1, renew: "update the server that sent it" };

/// The public data of a delta, from which its client is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeltaPart {
    /// The version of the base.
    pub base: Version,
    /// Number of records of base and delta together; `None` for a database with keys.
    pub records: Option<u64>,
    /// The delta's scheme and layout.
    pub bundle: Bundle,
}

impl DeltaPart {
    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.raw(&MAGIC).u16(DELTA_FORMATS.written as u16).raw(&self.base.0);
        writer.u64(self.records.unwrap_or(0)).bytes(&self.bundle.encode());
        let mut bytes = writer.finish();
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum);
        bytes
    }

    /// Parses a message. Allocates no more than the bytes given.
    ///
    /// # Errors
    /// [`CoreError::Malformed`], [`CoreError::Format`], [`CoreError::Checksum`], or those of
    /// [`Bundle::decode`].
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a delta", bytes);
        let magic: [u8; 4] = reader.array()?;
        if magic != MAGIC {
            return Err(CoreError::malformed("a delta", papir_core::shown_bytes(&magic), "`PIRD`").into());
        }
        DELTA_FORMATS.check(reader.u16()?.into())?;
        let (base, records) = (Version(reader.array()?), reader.u64()?);
        let bundle = reader.bytes()?;
        let sum: [u8; CHECKSUM_BYTES] = reader.array()?;
        reader.finish()?;
        if sum != checksum(&bytes[..bytes.len() - CHECKSUM_BYTES]) {
            return Err(CoreError::Checksum { what: "a delta".to_owned() }.into());
        }
        let bundle = Bundle::decode(bundle)?;
        if bundle.keyword.is_none() || bundle.commitment_top.is_some() {
            return Err(CoreError::malformed("a delta's bundle", "no layout, or a tree", "a layout").into());
        }
        Ok(Self { base, records: Some(records).filter(|&records| records > 0), bundle })
    }
}
