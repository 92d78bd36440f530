//! Rates of products on the first GPU: `cargo bench -p papir-cuda [-- GIB]`, for matrices of this many
//! GiB, 4 by default.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Instant;

use papir_core::device::{Device, TileShape, Tiles, Words};
use papir_cuda::Cuda;

const RUNS: usize = 7;

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench");
    let test = arguments.by_ref().next();
    // `cargo test` runs this too, with the arguments of the test runner.
    let gib: usize = match test.as_deref().map(str::parse) {
        Some(Ok(gib)) => gib,
        Some(Err(_)) => return,
        None => 4,
    };
    let gpu = match Cuda::open(0, Box::new(|failure| println!("{}", failure.error))) {
        Ok(gpu) => gpu,
        Err(error) => return println!("skipped: {error}"),
    };
    println!(
        "{}: {:.0} GB/s read and written by copies",
        gpu.name(),
        gpu.bandwidth().unwrap() / 1e9
    );
    println!(
        "{:>10} {:>8} {:>8} {:>5} {:>5} {:>10} {:>10}",
        "words", "rows", "columns", "bits", "group", "ms", "GB/s each"
    );
    for (words, columns, bits) in [
        (Words::Signed16, 65_536, 45),
        (Words::Unsigned8, 65_536, 32),
        (Words::Signed32, 4096, 43),
    ] {
        let one = TileShape {
            words,
            rows: 64,
            columns,
        };
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 13
        };
        let groups = (gib << 30) / one.group_bytes();
        let block: Vec<u8> = (0..(64 << 20)).map(|_| next() as u8).collect();
        let mut tiles = vec![0; groups * one.group_bytes()];
        tiles
            .chunks_mut(block.len())
            .for_each(|chunk| chunk.copy_from_slice(&block[..chunk.len()]));
        let started = Instant::now();
        let held = gpu
            .hold(Tiles::new(words, columns, &tiles).unwrap())
            .unwrap();
        println!(
            "copied at {:.1} GB/s",
            tiles.len() as f64 / started.elapsed().as_secs_f64() / 1e9
        );
        for group in [1, 8, 32, 128] {
            let vectors: Vec<Vec<u64>> = (0..group)
                .map(|_| (0..columns).map(|_| next()).collect())
                .collect();
            let vectors: Vec<&[u64]> = vectors.iter().map(Vec::as_slice).collect();
            let mut times: Vec<f64> = (0..RUNS)
                .map(|_| {
                    let started = Instant::now();
                    std::hint::black_box(held.products(&vectors, bits).unwrap());
                    started.elapsed().as_secs_f64()
                })
                .collect();
            times.sort_by(f64::total_cmp);
            let time = times[RUNS / 2];
            let rate = group as f64 * tiles.len() as f64 / time / 1e9;
            let rows = groups * 64;
            println!(
                "{words:>10?} {rows:>8} {columns:>8} {bits:>5} {group:>5} {:>10.3} {rate:>10.0}",
                time * 1e3
            );
        }
    }
}
