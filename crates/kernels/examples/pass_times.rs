//! Times the database kernels against the machine's read bandwidth, on one core.
//!
//! `cargo run --release -p papir-kernels --example pass_times [MiB]` (1024 unless told).
//! A line gives the median time of some runs, the bytes of the matrix (for `bits`: of the
//! unpacked values) per second, and `reads`: the time over that of the fastest way to read
//! as many bytes, measured in turn with it.

use std::hint::black_box;
use std::time::Instant;

use papir_kernels::{Backend, bits, mat32, matvec_i16, matvec_u8};

/// Runs of each measurement.
const RUNS: usize = 7;
/// Planes of the queries.
const PLANES: usize = 4;
/// Planes of the queries of words, in turn.
const WORD_PLANES: [usize; 3] = [3, 4, 5];

/// What a run took: seconds, and how often its bytes could have been read meanwhile.
type Taken = (f64, f64);

/// The way to read memory once that is the fastest on this machine.
type Reader = fn(&[u64]) -> u64;

/// The seconds that something takes.
fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

/// The median.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Prints one line on work over `bytes` of matrix: medians of some runs. Each run
/// has a read of `words` before it, so that both meet the same load on the machine.
fn report(name: &str, bytes: usize, read: (Reader, &[u64]), mut run: impl FnMut()) {
    let (reader, words) = read;
    let runs: Vec<Taken> = (0..RUNS)
        .map(|_| {
            let reading = seconds(|| {
                black_box(reader(black_box(words)));
            });
            let running = seconds(&mut run);
            let fair = reading / size_of_val(words) as f64 * bytes as f64;
            (running, running / fair)
        })
        .collect();
    let taken = median(runs.iter().map(|run| run.0).collect());
    println!(
        "{name:46} {:9.3} ms  {:6.2} GB/s  {:5.2} reads",
        taken * 1e3,
        bytes as f64 / taken / 1e9,
        median(runs.iter().map(|run| run.1).collect())
    );
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

/// Asks for the bytes 2 KiB after these.
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

/// Prints the machine's read bandwidth with 1 to 16 streams; gives the fastest way.
fn fastest_reader(words: &[u64]) -> Reader {
    let readers: [(usize, Reader); 5] = [
        (1, read_wide::<1>),
        (2, read_wide::<2>),
        (4, read_wide::<4>),
        (8, read_wide::<8>),
        (16, read_wide::<16>),
    ];
    let mut times = [(); 5].map(|()| Vec::new());
    for _ in 0..RUNS {
        for (times, (_, reader)) in times.iter_mut().zip(readers) {
            times.push(seconds(|| {
                black_box(reader(black_box(words)));
            }));
        }
    }
    let mut fastest = (f64::INFINITY, readers[0].1);
    for (times, (streams, reader)) in times.into_iter().zip(readers) {
        let taken = median(times);
        let rate = size_of_val(words) as f64 / taken / 1e9;
        println!("read in {streams:2} streams: {rate:.2} GB/s");
        if taken < fastest.0 {
            fastest = (taken, reader);
        }
    }
    fastest.1
}

fn time_rows16(words: &[u64], reader: Reader) {
    for pairs in [32768, 4096, 512, 64] {
        let words = &words[..words.len() / (pairs * 32) * (pairs * 32)];
        let tiles: &[i16] = bytemuck::cast_slice(words);
        let (bytes, groups) = (size_of_val(words), tiles.len() / (pairs * 128));
        let planes: Vec<i16> = (0..pairs * 2 * 5).map(|i| i as i16 % 1024).collect();
        let mut outs = [(); 4].map(|()| vec![0; groups * 64]);
        for (backend, count) in
            Backend::available().into_iter().flat_map(|b| WORD_PLANES.map(|count| (b, count)))
        {
            let name = format!("matvec_i16 {groups} groups × {pairs} pairs × {count}, {backend}");
            let planes = &planes[..pairs * 2 * count];
            report(&name, bytes, (reader, words), || {
                matvec_i16::pass_with(backend, tiles, pairs, planes, count, &mut outs[0]);
            });
        }
        let planes = &planes[..pairs * 2 * PLANES];
        let mut outs: Vec<&mut [u64]> = outs.iter_mut().map(Vec::as_mut_slice).collect();
        report("matvec_i16, 4 queries in one pass", bytes, (reader, words), || {
            matvec_i16::pass_many(tiles, pairs, &[planes; 4], PLANES, &mut outs);
        });
    }
}

fn time_rows8(words: &[u64], reader: Reader) {
    for quads in [32768, 512] {
        let words = &words[..words.len() / (quads * 32) * (quads * 32)];
        let tiles: &[u8] = bytemuck::cast_slice(words);
        let (bytes, groups) = (size_of_val(words), tiles.len() / (quads * 256));
        let planes: Vec<i8> = (0..quads * 4 * PLANES).map(|i| i as i8).collect();
        let mut outs = [(); 4].map(|()| vec![0; groups * 64]);
        for backend in Backend::available() {
            let name = format!("matvec_u8 {groups} groups × {quads} quads, {backend}");
            report(&name, bytes, (reader, words), || {
                matvec_u8::pass_with(backend, tiles, quads, &planes, PLANES, &mut outs[0]);
            });
        }
        let mut outs: Vec<&mut [u32]> = outs.iter_mut().map(Vec::as_mut_slice).collect();
        report("matvec_u8, 4 queries in one pass", bytes, (reader, words), || {
            matvec_u8::pass_many(tiles, quads, &[planes.as_slice(); 4], PLANES, &mut outs);
        });
    }
}

/// Times a matrix that a cache may hold: each run takes another one.
fn time_mat32(words: &[u64], reader: Reader) {
    let (rows, cols) = (2048, 4096);
    let y: Vec<i32> = (0..cols as i32).map(|i| i * 65_521 % (1 << 28)).collect();
    let (mut out0, mut out1) = (vec![0; rows], vec![0; rows]);
    let tiles: &[i32] = bytemuck::cast_slice(words);
    let mut matrices = tiles.chunks_exact(rows * cols).cycle();
    for backend in Backend::available() {
        let name = format!("mat32 {rows} × {cols}, {backend}");
        report(&name, rows * cols * 4, (reader, words), || {
            if let Some(tiles) = matrices.next() {
                mat32::pass_with(backend, tiles, cols, &y, &y, &mut out0, &mut out1);
            }
        });
    }
}

fn time_tiles(words: &[u64], reader: Reader) {
    let pairs = 4096;
    let groups = words.len() / (pairs * 32);
    let mut tiles = vec![0i16; groups * pairs * 128];
    let bytes = tiles.len() * 2;
    let column: Vec<i16> = (0..groups * 64).map(|i| i as i16).collect();
    report("matvec_i16 scatter_pair, all columns", bytes, (reader, words), || {
        for k in 0..pairs {
            matvec_i16::scatter_pair(&mut tiles, groups, pairs, k, &column, &column);
        }
    });
    report("matvec_i16 scatter_column, all columns", bytes, (reader, words), || {
        for c in 0..2 * pairs {
            matvec_i16::scatter_column(&mut tiles, groups, pairs, c, &column);
        }
    });
    let mut rows = vec![0; pairs * 128];
    report("matvec_i16 gather_rows, all groups", bytes, (reader, words), || {
        for tile in tiles.chunks_exact(pairs * 128) {
            matvec_i16::gather_rows(tile, 0, 2 * pairs, black_box(&mut rows));
        }
    });
}

fn time_bits(words: &[u64], reader: Reader) {
    let values = &words[..1 << 22];
    let (mut bytes, mut back) = (Vec::new(), Vec::new());
    for width in [1, 13, 28, 44, 64] {
        for backend in Backend::available() {
            let name = format!("bits pack {width}, {backend}");
            report(&name, size_of_val(values), (reader, words), || {
                bits::pack_with(backend, values, width, &mut bytes);
            });
            let name = format!("bits unpack {width}, {backend}");
            report(&name, size_of_val(values), (reader, words), || {
                let count = values.len();
                let unpacked = bits::unpack_with(backend, &bytes, width, count, &mut back);
                assert_eq!(unpacked, Ok(()));
            });
        }
    }
}

fn main() {
    let mebibytes = std::env::args().nth(1).and_then(|n| n.parse().ok());
    let count = mebibytes.unwrap_or(1024usize).max(64) << 17;
    let words: Vec<u64> = (0..count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let reader = fastest_reader(&words);
    time_rows16(&words, reader);
    time_rows8(&words, reader);
    time_mat32(&words, reader);
    time_bits(&words, reader);
    time_tiles(&words, reader);
}
