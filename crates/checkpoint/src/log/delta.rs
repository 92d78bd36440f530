//! The log in the file of a delta, which continues that of its base.
//!
//! Its format:
//!
//! ```text
//! bytes  field
//!     2  format, 2
//!   8+n  the owner's public key as text, with its length
//!     8  number of leaves before, which are in the log of the base
//!     8  number of leaves
//!   8+n  each leaf, with its length
//!   8+n  the checkpoint, a signed note, with its length
//!     1  number of certificates
//!   8+n  each certificate, with its length
//! ```
//! All numbers are little-endian. A log in format 1 is whole.

use papir_core::Formats;
use papir_core::codec::{Reader, Writer};

use super::{LOG_FORMATS, Log, read_leaves, write_leaves};
use crate::error::{Error, Result};
use crate::note::Note;
use crate::proof::{read_certificates, read_key, write_certificates};

/// Format numbers of the logs of deltas.
pub const DELTA_LOG_FORMATS: Formats = Formats {
    what: "a log of a delta",
    oldest: 1,
    written: 2,
    renew: "merge the delta: `papir merge …`",
};

impl Log {
    /// Encodes the log of a delta, without the leaves that the log of its base has. The length
    /// depends on the number of deltas since the base, and not on the number of versions before.
    ///
    /// # Errors
    /// None in practice: the leaves were encoded before.
    pub fn encode_delta(&self) -> Result<Vec<u8>> {
        let before = self.leaves_up_to_base();
        let mut writer = Writer::new();
        writer
            .u16(DELTA_LOG_FORMATS.written as u16)
            .bytes(self.owner.to_string().as_bytes())
            .u64(before as u64);

        write_leaves(&mut writer, &self.leaves[before..])?;
        writer.bytes(self.note.to_string().as_bytes());
        write_certificates(&mut writer, &self.certificates);
        Ok(writer.finish())
    }

    /// Decodes the log of a delta whose base has the log `base`. Checks what [`Log::decode`]
    /// checks, for all leaves together.
    ///
    /// # Errors
    /// The errors of [`Log::decode`]; [`papir_core::Error::Malformed`] for a log that continues
    /// more leaves than the base has, and [`Error::NotIncluded`] for one that continues others.
    pub fn decode_delta(bytes: &[u8], base: &Self) -> Result<Self> {
        let mut reader = Reader::new("a log of a delta", bytes);
        let format = u32::from(reader.u16()?);
        DELTA_LOG_FORMATS.check(format)?;
        if format == LOG_FORMATS.written {
            return Self::decode(bytes);
        }

        let owner = read_key(&mut reader)?;
        let before = reader.u64()?;
        let known = usize::try_from(before)
            .ok()
            .and_then(|before| Some((base.leaves.get(..before)?, base.hashes.get(..before)?)));
        let Some((leaves, hashes)) = known else {
            let expected = format!("at most {}, as in the base's log", base.leaves.len());
            let found = format!("{before} leaves before it");
            return Err(Error::malformed("a log of a delta", found, expected));
        };

        let mut leaves = leaves.to_vec();
        let mut hashes = hashes.to_vec();
        read_leaves(&mut reader, &mut leaves, &mut hashes)?;
        let note = Note::parse(reader.bytes()?)?;
        let certificates = read_certificates(&mut reader)?;
        reader.finish()?;

        let log = Self {
            owner,
            leaves,
            hashes,
            note,
            certificates,
        };
        // The root covers the leaves of the base, too: those of another log are refused.
        log.check()?;
        Ok(log)
    }

    /// Number of leaves up to that of the newest version without a delta.
    fn leaves_up_to_base(&self) -> usize {
        let mut leaves = self.leaves.iter();
        let base = leaves.rposition(|leaf| leaf.delta_root.is_none());
        base.map_or(0, |base| base + 1)
    }
}
