//! Construction of filters from sorted ids.

use std::io::{self, Write};

use papir_core::{Error as CoreError, Result as CoreResult};

use super::bits::BitWriter;
use super::header::Dimensions;
use crate::ids::{ID_BYTES, KeyIds, ascending};

/// Makes the filter of these keys in memory.
///
/// # Errors
/// The errors of [`write()`].
pub fn of_ids(bits: u8, ids: &KeyIds) -> CoreResult<Vec<u8>> {
    let mut filter = Vec::new();
    write(bits, &ids.encode(), &mut filter)?;
    Ok(filter)
}

/// Writes the filter of keys to `out`. `ids` are their encoded ids ([`KeyIds::encode`]), which may
/// be mapped from a file. Besides them, it needs 4 bytes of memory for every 256 keys.
///
/// # Errors
/// [`CoreError::OutOfBounds`] for other bits than [`super::BITS`], for too many keys, and for a
/// filter whose codes have 4 GiB or more; [`CoreError::Length`] and [`CoreError::Malformed`] for
/// bytes that are no ascending ids; [`CoreError::Io`] for errors of `out`.
pub fn write(bits: u8, ids: &[u8], out: &mut dyn Write) -> CoreResult<()> {
    let ids = ascending(ids)?;
    let dimensions = Dimensions::new(bits, ids.len() as u64)?;
    let ends = ends_of(dimensions, ids)?;

    let mut header = dimensions.write();
    for end in ends {
        header.u32(end);
    }
    out.write_all(&header.finish()).map_err(unwritten)?;

    // Encoded a second time: the codes of all blocks might not fit in memory.
    each_block(dimensions, ids, |code| {
        out.write_all(code).map_err(unwritten)
    })
}

/// The ends of the codes of all blocks.
fn ends_of(dimensions: Dimensions, ids: &[[u8; ID_BYTES]]) -> CoreResult<Vec<u32>> {
    let mut ends = Vec::with_capacity(dimensions.blocks() as usize);
    let mut end = 0_u64;
    each_block(dimensions, ids, |code| {
        end += code.len() as u64;
        let fitting = u32::try_from(end).map_err(|_| {
            let expected = "less than 4 GiB: fewer bits for each key";
            CoreError::out_of_bounds("the bytes of a prefilter", end, expected)
        })?;
        ends.push(fitting);
        Ok(())
    })?;
    Ok(ends)
}

/// Encodes one block after the other, and passes its code to `take`.
fn each_block(
    dimensions: Dimensions,
    ids: &[[u8; ID_BYTES]],
    mut take: impl FnMut(&[u8]) -> CoreResult<()>,
) -> CoreResult<()> {
    let log_range = dimensions.log_range();
    let mut code = BitWriter::default();
    let mut left = ids;

    for block in 0..dimensions.blocks() {
        // Ids ascend, so that those of a block are the first of those that are left.
        let count = left.partition_point(|id| dimensions.fingerprint(id) >> log_range <= block);
        let (ids, after) = left.split_at(count);

        let mut last = block << log_range;
        for id in ids {
            let fingerprint = dimensions.fingerprint(id);
            code.difference(fingerprint - last, dimensions.bits);
            last = fingerprint;
        }

        take(code.finish())?;
        code.clear();
        left = after;
    }
    Ok(())
}

fn unwritten(source: io::Error) -> CoreError {
    CoreError::Io {
        what: "writing the prefilter".to_owned(),
        source,
    }
}
