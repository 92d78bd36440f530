//! Matrix of 4-bit words × query: both halves of the bytes, one after the other, as bytes.

use super::matvec_u8;
use crate::layout::ROWS;

/// Bytes of a quad of columns.
const QUAD_BYTES: usize = 4 * ROWS;
/// Quads of a block: both halves of its bytes stay in the first-level cache.
const BLOCK_QUADS: usize = 32;

/// Adds the rows of every group times the query to `out`.
pub(crate) fn pass(tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize, out: &mut [u32]) {
    for (tile, out) in tiles
        .chunks_exact(quads * QUAD_BYTES)
        .zip(out.chunks_exact_mut(2 * ROWS))
    {
        let (low, high) = out.split_at_mut(ROWS);
        let planes = planes.chunks(4 * plane_count * BLOCK_QUADS);
        for (bytes, planes) in tile.chunks(BLOCK_QUADS * QUAD_BYTES).zip(planes) {
            let mut half = [0; BLOCK_QUADS * QUAD_BYTES];
            let half = &mut half[..bytes.len()];
            let taken = bytes.len() / QUAD_BYTES;

            half.iter_mut()
                .zip(bytes)
                .for_each(|(half, byte)| *half = byte & 15);
            matvec_u8::pass(half, taken, planes, plane_count, low);

            half.iter_mut()
                .zip(bytes)
                .for_each(|(half, byte)| *half = byte >> 4);
            matvec_u8::pass(half, taken, planes, plane_count, high);
        }
    }
}
