//! Header of a filter: its bits and its number of keys.

use papir_core::codec::{Reader, Writer};
use papir_core::{Error as CoreError, Result as CoreResult};

use super::{PREFILTER_FORMATS, check_bits};
use crate::ids::ID_BYTES;

const MAGIC: [u8; 4] = *b"PIRK";
/// log₂ of the mean number of fingerprints in a block.
const LOG_BLOCK: u32 = 8;
/// Most keys of a filter: 2³². Keeps fingerprints below 2⁵⁶.
const MAX_KEYS: u64 = 1 << 32;

/// The number of keys and the bits of a filter, which determine its fingerprints and blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dimensions {
    pub(super) bits: u8,
    pub(super) keys: u64,
}

impl Dimensions {
    /// Checks the bits and the number of keys.
    pub(super) fn new(bits: u8, keys: u64) -> CoreResult<Self> {
        check_bits(bits)?;
        if keys > MAX_KEYS {
            let expected = format!("at most {MAX_KEYS}");
            let what = "the keys of a prefilter";
            return Err(CoreError::out_of_bounds(what, keys, expected));
        }
        Ok(Self { bits, keys })
    }

    /// Number of blocks.
    pub(super) fn blocks(self) -> u64 {
        self.keys.div_ceil(1 << LOG_BLOCK)
    }

    /// log₂ of the range of a block.
    pub(super) fn log_range(self) -> u32 {
        u32::from(self.bits) + LOG_BLOCK
    }

    /// The fingerprint of a key, from its id.
    pub(super) fn fingerprint(self, id: &[u8; ID_BYTES]) -> u64 {
        let word = id
            .first_chunk()
            .map_or(0, |first| u64::from_be_bytes(*first));
        let range = u128::from(self.keys << self.bits);

        // Below the range, which has at most 56 bits.
        ((u128::from(word) * range) >> u64::BITS) as u64
    }

    /// The header, to which the ends of the blocks are appended.
    pub(super) fn write(self) -> Writer {
        let mut writer = Writer::new();
        writer
            .raw(&MAGIC)
            .u16(PREFILTER_FORMATS.written as u16)
            .u8(self.bits)
            .u8(0)
            .u64(self.keys);
        writer
    }
}

/// Reads the header of a filter.
pub(super) fn read_header(reader: &mut Reader<'_>) -> CoreResult<Dimensions> {
    let magic: [u8; 4] = reader.array()?;
    if magic != MAGIC {
        let found = papir_core::shown_bytes(&magic);
        let expected = papir_core::shown_bytes(&MAGIC);
        return Err(CoreError::malformed(
            PREFILTER_FORMATS.what,
            found,
            expected,
        ));
    }
    PREFILTER_FORMATS.check(reader.u16()?.into())?;

    let bits = reader.u8()?;
    let zero = reader.u8()?;
    let keys = reader.u64()?;
    if zero != 0 {
        let what = "the byte after the bits of a prefilter";
        return Err(CoreError::malformed(what, zero, 0));
    }
    Dimensions::new(bits, keys)
}
