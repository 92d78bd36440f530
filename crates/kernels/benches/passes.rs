//! Times the database kernels against the machine's read bandwidth, on one core.
//!
//! `cargo bench -p papir-kernels --bench passes [NAME] [-- --mib=N]` reads matrices of N MiB (1024
//! by default). A line gives the median time of some runs, the bytes of the matrix (for `bits`: of
//! the unpacked values) per second, and `reads`: the time as a multiple of that of the fastest read
//! of as many bytes, measured in turn with it.

use std::hint::black_box;

use common::{Bench, median, seconds};
use papir_kernels::{Backend, bits, mat32, matvec_i16, matvec_i32, matvec_u4, matvec_u8};

mod common;

/// Runs of each measurement.
const RUNS: usize = 7;
/// Planes of the queries for bytes, and of those that share a pass.
const PLANES: usize = 4;
/// Planes of the queries for words of four bits.
const HALF_PLANES: usize = 3;
/// Planes of the queries for words, in turn.
const WORD_PLANES: [usize; 3] = [3, 4, 5];

/// A function that reads all words once.
type Reader = fn(&[u64]) -> u64;

/// The matrix, and the fastest read of it on this machine.
struct Matrix<'a> {
    words: &'a [u64],
    reader: Reader,
}

fn main() {
    let Some(mut bench) = Bench::from_args() else {
        return;
    };
    let count = bench.pick(bench.mebibytes().unwrap_or(1024).max(64), 1) << 17;
    let words: Vec<u64> = (0..count as u64)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    let reader = fastest_reader(&bench, &words);
    let matrix = Matrix {
        words: &words,
        reader,
    };
    matvec_i16(&mut bench, &matrix);
    matvec_u8(&mut bench, &matrix);
    matvec_u4(&mut bench, &matrix);
    mat32(&mut bench, &matrix);
    matvec_i32(&mut bench, &matrix);
    bits(&mut bench, &matrix);
    tiles(&mut bench, &matrix);
}

impl<'a> Matrix<'a> {
    /// The longest run of words that is whole groups of `group` words.
    fn whole(&self, group: usize) -> &'a [u64] {
        &self.words[..self.words.len() / group * group]
    }

    /// Prints the medians of some runs that work on `bytes` of a matrix; a test runs once.
    ///
    /// Each run follows a read of the words, so that both meet the same load on the machine.
    fn time(&self, bench: &Bench, name: &str, bytes: usize, mut run: impl FnMut()) {
        if !bench.selects(name) {
            return;
        }
        if !bench.timed() {
            return run();
        }
        let mut times = Vec::new();
        let mut reads = Vec::new();
        for _ in 0..RUNS {
            let read = self.read_seconds(bytes);
            let time = seconds(&mut run);
            times.push(time);
            reads.push(time / read);
        }
        let time = median(&mut times);
        println!(
            "{name:46} {:9.3} ms  {:6.2} GB/s  {:5.2} reads",
            time * 1e3,
            bytes as f64 / time / 1e9,
            median(&mut reads)
        );
    }

    /// Seconds to read as many bytes: all words are read, and their time is scaled.
    fn read_seconds(&self, bytes: usize) -> f64 {
        let time = seconds(|| {
            black_box((self.reader)(black_box(self.words)));
        });
        time / size_of_val(self.words) as f64 * bytes as f64
    }
}

/// Prints the read bandwidth with 1 to 16 streams and returns the fastest reader.
fn fastest_reader(bench: &Bench, words: &[u64]) -> Reader {
    let readers: [(usize, Reader); 5] = [
        (1, read_wide::<1>),
        (2, read_wide::<2>),
        (4, read_wide::<4>),
        (8, read_wide::<8>),
        (16, read_wide::<16>),
    ];
    if !bench.timed() {
        let sums = readers.map(|(_, reader)| reader(words));
        assert!(
            sums.iter().all(|&sum| sum == sums[0]),
            "sums of the streams: {sums:x?}"
        );
        return readers[0].1;
    }
    let mut times = [(); 5].map(|()| Vec::new());
    for _ in 0..RUNS {
        for (times, (_, reader)) in times.iter_mut().zip(readers) {
            times.push(seconds(|| {
                black_box(reader(black_box(words)));
            }));
        }
    }
    let mut fastest = (f64::INFINITY, readers[0].1);
    for (mut times, (streams, reader)) in times.into_iter().zip(readers) {
        let time = median(&mut times);
        let rate = size_of_val(words) as f64 / time / 1e9;
        println!("read in {streams:2} streams: {rate:.2} GB/s");
        if time < fastest.0 {
            fastest = (time, reader);
        }
    }
    fastest.1
}

/// [`read`] with the widest loads of the CPU.
fn read_wide<const STREAMS: usize>(words: &[u64]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f")]
        fn avx512<const STREAMS: usize>(words: &[u64]) -> u64 {
            read::<STREAMS>(words)
        }
        #[target_feature(enable = "avx2")]
        fn avx2<const STREAMS: usize>(words: &[u64]) -> u64 {
            read::<STREAMS>(words)
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the CPU has AVX-512.
            return unsafe { avx512::<STREAMS>(words) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has AVX2.
            return unsafe { avx2::<STREAMS>(words) };
        }
    }
    read::<STREAMS>(words)
}

/// Reads all words as `STREAMS` streams in parallel.
#[inline(always)]
fn read<const STREAMS: usize>(words: &[u64]) -> u64 {
    let mut sums = [0u64; 32];
    let (lines, _) = words.as_chunks::<32>();
    let streams: [_; STREAMS] =
        std::array::from_fn(|s| &lines[s * (lines.len() / STREAMS)..][..lines.len() / STREAMS]);
    for i in 0..lines.len() / STREAMS {
        for stream in streams {
            prefetch(&stream[i]);
            for (sum, word) in sums.iter_mut().zip(&stream[i]) {
                *sum ^= word;
            }
        }
    }
    sums.iter().fold(0, |a, b| a ^ b)
}

/// Prefetches the bytes 2 KiB after these.
#[inline(always)]
fn prefetch(words: &[u64; 32]) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..4 {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let place = words.as_ptr().wrapping_add(256 + 8 * line);
        // SAFETY: a prefetch is a hint and may name any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = words;
}

fn matvec_i16(bench: &mut Bench, matrix: &Matrix<'_>) {
    // The AVX-512 backend reads tiles from 4096 pairs on in streams.
    for &pairs in bench.pick(&[32768, 4096, 512, 64][..], &[4096, 64]) {
        let words = matrix.whole(pairs * 32);
        let tiles: &[i16] = bytemuck::cast_slice(words);
        let bytes = size_of_val(words);
        let groups = tiles.len() / (pairs * 128);
        let planes: Vec<i16> = (0..pairs * 2 * 5).map(|i| i as i16 % 1024).collect();
        for (backend, count) in Backend::available()
            .into_iter()
            .flat_map(|b| WORD_PLANES.map(|count| (b, count)))
        {
            let name = format!("matvec_i16 {groups} groups × {pairs} pairs × {count}");
            let planes = &planes[..pairs * 2 * count];
            let mut out = vec![0; groups * 64];
            matrix.time(bench, &format!("{name}, {backend}"), bytes, || {
                matvec_i16::pass(backend, tiles, pairs, planes, count, &mut out);
            });
            bench.agree(&name, backend, || out);
        }
        let planes = &planes[..pairs * 2 * PLANES];
        for count in [4, 32] {
            let mut outs = vec![vec![0; groups * 64]; count];
            let mut outs: Vec<&mut [u64]> = outs.iter_mut().map(Vec::as_mut_slice).collect();
            let each: Vec<Vec<i16>> = vec![planes.to_vec(); count];
            let each: Vec<&[i16]> = each.iter().map(Vec::as_slice).collect();
            matrix.time(
                bench,
                &format!("matvec_i16, {count} queries in one pass"),
                bytes,
                || {
                    matvec_i16::pass_many(
                        Backend::current(),
                        tiles,
                        pairs,
                        &each,
                        PLANES,
                        &mut outs,
                    );
                },
            );
        }
    }
}

fn matvec_u8(bench: &mut Bench, matrix: &Matrix<'_>) {
    for &quads in bench.pick(&[32768, 512], &[512, 64]) {
        let words = matrix.whole(quads * 32);
        let tiles: &[u8] = bytemuck::cast_slice(words);
        let bytes = size_of_val(words);
        let groups = tiles.len() / (quads * 256);
        let planes: Vec<i8> = (0..quads * 4 * PLANES).map(|i| i as i8).collect();
        for backend in Backend::available() {
            let name = format!("matvec_u8 {groups} groups × {quads} quads");
            let mut out = vec![0; groups * 64];
            matrix.time(bench, &format!("{name}, {backend}"), bytes, || {
                matvec_u8::pass(backend, tiles, quads, &planes, PLANES, &mut out);
            });
            bench.agree(&name, backend, || out);
        }
        let mut outs = [(); 4].map(|()| vec![0; groups * 64]);
        let mut outs: Vec<&mut [u32]> = outs.iter_mut().map(Vec::as_mut_slice).collect();
        matrix.time(bench, "matvec_u8, 4 queries in one pass", bytes, || {
            matvec_u8::pass_many(
                Backend::current(),
                tiles,
                quads,
                &[planes.as_slice(); 4],
                PLANES,
                &mut outs,
            );
        });
    }
}

fn matvec_u4(bench: &mut Bench, matrix: &Matrix<'_>) {
    let quads = bench.pick(8192, 64);
    let words = matrix.whole(quads * 32);
    let tiles: &[u8] = bytemuck::cast_slice(words);
    let bytes = size_of_val(words);
    let groups = tiles.len() / (quads * 256);
    let planes: Vec<i8> = (0..quads * 4 * HALF_PLANES).map(|i| i as i8).collect();
    for backend in Backend::available() {
        let name = format!("matvec_u4 {groups} groups × {quads} quads");
        let mut out = vec![0; groups * 128];
        matrix.time(bench, &format!("{name}, {backend}"), bytes, || {
            matvec_u4::pass(backend, tiles, quads, &planes, HALF_PLANES, &mut out);
        });
        bench.agree(&name, backend, || out);
        let mut outs = [(); 4].map(|()| vec![0; groups * 128]);
        let mut outs: Vec<&mut [u32]> = outs.iter_mut().map(Vec::as_mut_slice).collect();
        matrix.time(
            bench,
            &format!("matvec_u4, 4 queries in one pass, {backend}"),
            bytes,
            || {
                let queries = [planes.as_slice(); 4];
                matvec_u4::pass_many(backend, tiles, quads, &queries, HALF_PLANES, &mut outs);
            },
        );
    }
}

/// Each run uses another matrix, since a cache may hold one.
fn mat32(bench: &mut Bench, matrix: &Matrix<'_>) {
    let (rows, cols) = bench.pick((2048, 4096), (128, 256));
    let y: Vec<i32> = (0..cols as i32).map(|i| i * 65_521 % (1 << 28)).collect();
    let tiles: &[i32] = bytemuck::cast_slice(matrix.words);
    for backend in Backend::available() {
        let mut matrices = tiles.chunks_exact(rows * cols).cycle();
        let mut out0 = vec![0; rows];
        let mut out1 = vec![0; rows];
        let name = format!("mat32 {rows} × {cols}");
        matrix.time(
            bench,
            &format!("{name}, {backend}"),
            rows * cols * 4,
            || {
                if let Some(tiles) = matrices.next() {
                    mat32::pass(backend, tiles, cols, &y, &y, &mut out0, &mut out1);
                }
            },
        );
        bench.agree(&name, backend, || (out0, out1));
    }
}

fn matvec_i32(bench: &mut Bench, matrix: &Matrix<'_>) {
    let (rows, cols) = bench.pick((2048, 4096), (128, 256));
    let y: Vec<u64> = (0..cols as u64).map(|i| i * 65_521 % (1 << 50)).collect();
    let tiles: &[i32] = bytemuck::cast_slice(matrix.words);
    for vectors in [1, 4, 12] {
        for backend in Backend::available() {
            let mut matrices = tiles.chunks_exact(rows * cols).cycle();
            let mut sums = vec![vec![0; rows]; vectors];
            let name = format!("matvec_i32 {rows} × {cols}, {vectors} vectors");
            matrix.time(
                bench,
                &format!("{name}, {backend}"),
                rows * cols * 4,
                || {
                    if let Some(tiles) = matrices.next() {
                        let mut outs: Vec<&mut [u64]> =
                            sums.iter_mut().map(Vec::as_mut_slice).collect();
                        matvec_i32::pass_many(
                            backend,
                            tiles,
                            cols,
                            &vec![&y[..]; vectors],
                            50,
                            &mut outs,
                        );
                    }
                },
            );
            bench.agree(&name, backend, || sums);
        }
    }
}

fn bits(bench: &mut Bench, matrix: &Matrix<'_>) {
    let values = &matrix.words[..bench.pick(1 << 22, 1 << 10)];
    let bytes = size_of_val(values);
    let mut packed = Vec::new();
    let mut back = Vec::new();
    for width in [1, 13, 28, 44, 64] {
        for backend in Backend::available() {
            let name = format!("bits pack {width}");
            matrix.time(bench, &format!("{name}, {backend}"), bytes, || {
                bits::pack(backend, values, width, &mut packed);
            });
            bench.agree(&name, backend, || &packed);
            // Packs again, in case a filter excluded the timed packing.
            bits::pack(backend, values, width, &mut packed);
            let name = format!("bits unpack {width}");
            matrix.time(bench, &format!("{name}, {backend}"), bytes, || {
                let unpacked = bits::unpack(backend, &packed, width, values.len(), &mut back);
                assert_eq!(unpacked, Ok(()));
            });
            bench.agree(&name, backend, || &back);
        }
    }
}

fn tiles(bench: &mut Bench, matrix: &Matrix<'_>) {
    let pairs = bench.pick(4096, 64);
    let groups = matrix.words.len() / (pairs * 32);
    let mut tiles = vec![0i16; groups * pairs * 128];
    let bytes = tiles.len() * 2;
    let column: Vec<i16> = (0..groups * 64).map(|i| i as i16).collect();
    matrix.time(bench, "matvec_i16 scatter_pair, all columns", bytes, || {
        for k in 0..pairs {
            matvec_i16::scatter_pair(&mut tiles, groups, pairs, k, &column, &column);
        }
    });
    matrix.time(
        bench,
        "matvec_i16 scatter_column, all columns",
        bytes,
        || {
            for c in 0..2 * pairs {
                matvec_i16::scatter_column(&mut tiles, groups, pairs, c, &column);
            }
        },
    );
    let mut rows = vec![0; pairs * 128];
    matrix.time(bench, "matvec_i16 gather_rows, all groups", bytes, || {
        for tile in tiles.chunks_exact(pairs * 128) {
            matvec_i16::gather_rows(tile, 0, 2 * pairs, black_box(&mut rows));
        }
    });
}
