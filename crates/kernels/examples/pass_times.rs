//! Times the database kernels against the machine's read bandwidth, on one core.
//!
//! `cargo run --release -p papir-kernels --example pass_times [MiB]` (1024 unless told).
//! A line gives the best and the median of some runs, the bytes of the matrix per second,
//! and `reads`: the median over the time that the fastest way to read that many bytes takes.

use std::hint::black_box;
use std::time::Instant;

use papir_kernels::{Backend, bits, mat32, rows8, rows16};

/// Runs of each measurement.
const RUNS: usize = 7;
/// Planes of the queries.
const PLANES: usize = 4;

/// The best and the median time of some runs, in seconds.
fn times(mut run: impl FnMut()) -> (f64, f64) {
    let mut seconds: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    (seconds[0], seconds[RUNS / 2])
}

/// Prints one line: `bytes` of work took `times`, a read goes at `read` bytes a second.
fn report(name: &str, bytes: usize, (best, median): (f64, f64), read: f64) {
    let bytes = bytes as f64;
    println!(
        "{name:40} best {:9.3} ms  median {:9.3} ms  {:6.2} GB/s  {:5.2} reads",
        best * 1e3,
        median * 1e3,
        bytes / median / 1e9,
        median * read / bytes
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

/// The machine's read bandwidth with 1 to 16 streams; the best, in bytes a second.
fn read_bandwidth(words: &[u64]) -> f64 {
    let bytes = size_of_val(words);
    let readers: [(usize, fn(&[u64]) -> u64); 5] = [
        (1, read_wide::<1>),
        (2, read_wide::<2>),
        (4, read_wide::<4>),
        (8, read_wide::<8>),
        (16, read_wide::<16>),
    ];
    let mut fastest = 0f64;
    for (streams, reader) in readers {
        let (best, median) = times(|| {
            black_box(reader(black_box(words)));
        });
        let rates = [bytes as f64 / best, bytes as f64 / median];
        println!(
            "read, {streams:2} streams: best {:.2} GB/s, median {:.2} GB/s",
            rates[0] / 1e9,
            rates[1] / 1e9
        );
        fastest = fastest.max(rates[1]);
    }
    fastest
}

fn time_rows16(words: &[u64], read: f64) {
    let tiles: &[i16] = bytemuck::cast_slice(words);
    for pairs in [32768, 4096, 512, 64] {
        let groups = tiles.len() / (pairs * 128);
        let tiles = &tiles[..groups * pairs * 128];
        let mut planes = Vec::new();
        let values: Vec<u64> = (0..2 * pairs as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        rows16::pack_planes(&values, 44, PLANES, &mut planes);
        let mut out = vec![0; groups * 64];
        for backend in Backend::available() {
            let taken =
                times(|| rows16::pass_with(backend, tiles, pairs, black_box(&planes), PLANES, &mut out));
            let name = format!("rows16 {groups} groups × {pairs} pairs, {backend}");
            report(&name, tiles.len() * 2, taken, read);
        }
        let mut outs = [(); 4].map(|()| vec![0; groups * 64]);
        let mut outs: Vec<&mut [u64]> = outs.iter_mut().map(Vec::as_mut_slice).collect();
        let taken =
            times(|| rows16::pass_many(tiles, pairs, &[black_box(planes.as_slice()); 4], PLANES, &mut outs));
        report("rows16, 4 queries in one pass", tiles.len() * 2, taken, read);
    }
}

fn time_rows8(words: &[u64], read: f64) {
    let tiles: &[u8] = bytemuck::cast_slice(words);
    for quads in [32768, 512] {
        let groups = tiles.len() / (quads * 256);
        let tiles = &tiles[..groups * quads * 256];
        let mut planes = Vec::new();
        let values: Vec<u32> = (0..4 * quads as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        rows8::pack_planes(&values, 32, PLANES, &mut planes);
        let mut out = vec![0; groups * 64];
        for backend in Backend::available() {
            let taken =
                times(|| rows8::pass_with(backend, tiles, quads, black_box(&planes), PLANES, &mut out));
            let name = format!("rows8 {groups} groups × {quads} quads, {backend}");
            report(&name, tiles.len(), taken, read);
        }
    }
}

fn time_mat32(words: &[u64], read: f64) {
    let (rows, cols) = (2048, 4096);
    let tiles: &[i32] = bytemuck::cast_slice(words);
    let y: Vec<i32> = (0..cols as i32).map(|i| i * 65_521 % (1 << 28)).collect();
    let (mut out0, mut out1) = (vec![0; rows], vec![0; rows]);
    let mut matrices = tiles.chunks_exact(rows * cols).cycle();
    for backend in Backend::available() {
        // Another matrix each time, so that no run finds its own in the cache.
        let taken = times(|| {
            if let Some(tiles) = matrices.next() {
                mat32::pass_with(backend, tiles, cols, black_box(&y), &y, &mut out0, &mut out1);
            }
        });
        report(&format!("mat32 {rows} × {cols}, {backend}"), rows * cols * 4, taken, read);
    }
}

fn time_tiles(words: &mut [u64], read: f64) {
    let tiles: &mut [i16] = bytemuck::cast_slice_mut(words);
    let pairs = 4096;
    let groups = tiles.len() / (pairs * 128);
    let tiles = &mut tiles[..groups * pairs * 128];
    let bytes = tiles.len() * 2;
    let column: Vec<i16> = (0..groups * 64).map(|i| i as i16).collect();
    let taken = times(|| {
        for k in 0..pairs {
            rows16::scatter_pair(tiles, groups, pairs, k, &column, &column);
        }
    });
    report("rows16 scatter_pair, all columns", bytes, taken, read);
    let taken = times(|| {
        for c in 0..2 * pairs {
            rows16::scatter_column(tiles, groups, pairs, c, &column);
        }
    });
    report("rows16 scatter_column, all columns", bytes, taken, read);
    let mut rows = vec![0; pairs * 128];
    let taken = times(|| {
        for tile in tiles.chunks_exact(pairs * 128) {
            rows16::gather_rows(tile, 0, 2 * pairs, black_box(&mut rows));
        }
    });
    report("rows16 gather_rows, all groups", bytes, taken, read);
}

fn time_bits(words: &mut [u64], read: f64) {
    let values = &mut words[..1 << 22];
    for (i, value) in values.iter_mut().enumerate() {
        *value = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    let (mut bytes, mut back) = (Vec::new(), Vec::new());
    for width in [1, 13, 28, 44, 64] {
        for backend in Backend::available() {
            let taken = times(|| bits::pack_with(backend, black_box(values), width, &mut bytes));
            report(&format!("bits pack {width}, {backend}"), size_of_val(values), taken, read);
            let taken = times(|| {
                let unpacked = bits::unpack_with(backend, black_box(&bytes), width, values.len(), &mut back);
                assert_eq!(unpacked, Ok(()));
            });
            report(&format!("bits unpack {width}, {backend}"), size_of_val(values), taken, read);
        }
    }
}

fn main() {
    let mebibytes = std::env::args().nth(1).and_then(|n| n.parse().ok());
    let count = mebibytes.unwrap_or(1024usize).max(64) << 17;
    let mut words: Vec<u64> = (0..count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let read = read_bandwidth(&words);
    time_rows16(&words, read);
    time_rows8(&words, read);
    time_mat32(&words, read);
    time_bits(&mut words, read);
    time_tiles(&mut words, read);
}
