//! Matrix of 16-bit words × query: the portable pass on sixteen lanes, in streams.

use super::lanes::Avx512;
use crate::layout::ROWS;
use crate::portable::lanes::Lanes;
use crate::portable::matvec_i16::{self, FLUSH_PAIRS};

/// Registers of a slab: a whole pair of columns of a group.
const SLAB: usize = 4;
/// A pair of columns of a group: 64 cells of two words.
type Columns = matvec_i16::Slab<16, SLAB>;

/// Streams in which a large tile is read, since one stream does not use the whole bandwidth of a
/// core. Each has its own load instructions, by which the CPU's prefetcher tells streams apart.
const STREAMS: usize = 4;
/// The least number of pairs of a large tile.
const STREAMED_PAIRS: usize = 4096;

/// Adds the rows of every group times the query to `out`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(crate) fn pass(
    tiles: &[i16],
    pairs: usize,
    planes: &[i16],
    plane_count: usize,
    out: &mut [u64],
) {
    by_planes!(up to 5, plane_count, pass_planes(tiles, pairs, planes, out));
}

/// [`pass`] for several queries.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(crate) fn pass_many(
    tiles: &[i16],
    pairs: usize,
    queries: &[&[i16]],
    plane_count: usize,
    outs: &mut [&mut [u64]],
) {
    by_planes!(up to 5, plane_count, pass_many_planes(tiles, pairs, queries, outs));
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn pass_many_planes<const P: usize>(
    tiles: &[i16],
    pairs: usize,
    queries: &[&[i16]],
    outs: &mut [&mut [u64]],
) {
    matvec_i16::pass_many_lanes::<_, _, SLAB, P>(Avx512::new(), tiles, pairs, queries, outs);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn pass_planes<const P: usize>(tiles: &[i16], pairs: usize, planes: &[i16], out: &mut [u64]) {
    if pairs < STREAMED_PAIRS {
        return pass_many_planes::<P>(tiles, pairs, &[planes], &mut [out]);
    }

    let digits = matvec_i16::digits::<P>(planes);
    let (cells, _) = tiles.as_chunks::<2>();
    let (registers, _) = cells.as_chunks::<16>();
    let (columns, _) = registers.as_chunks::<SLAB>();
    let length = pairs / STREAMS;

    for (tile, out) in columns.chunks_exact(pairs).zip(out.chunks_exact_mut(ROWS)) {
        add_streams(tile, digits, length, out);
        let rest = STREAMS * length..;
        matvec_i16::add_tile(Avx512::new(), &tile[rest.clone()], &digits[rest], out);
    }
}

/// Adds the first pairs of columns to `out`, as [`STREAMS`] streams of `length` pairs in turn.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn add_streams<const P: usize>(
    tile: &[Columns],
    digits: &[[[i16; 2]; P]],
    length: usize,
    out: &mut [u64],
) {
    // All streams add to the same sums, which hold FLUSH_PAIRS pairs.
    const STEP: usize = FLUSH_PAIRS / STREAMS;
    let lanes = Avx512::new();

    for from in (0..length).step_by(STEP) {
        let taken = STEP.min(length - from);
        let stream = |s: usize| {
            let from = s * length + from;
            tile[from..][..taken].iter().zip(&digits[from..][..taken])
        };

        let mut sums = [[lanes.splat(0); SLAB]; P];
        let streams = stream(0).zip(stream(1)).zip(stream(2)).zip(stream(3));
        for (((a, b), c), d) in streams {
            // Four calls, not a loop: each stream has load instructions of its own.
            matvec_i16::add(lanes, a.0, a.1, &mut sums);
            matvec_i16::add(lanes, b.0, b.1, &mut sums);
            matvec_i16::add(lanes, c.0, c.1, &mut sums);
            matvec_i16::add(lanes, d.0, d.1, &mut sums);
        }

        matvec_i16::flush(lanes, &sums, out);
    }
}
