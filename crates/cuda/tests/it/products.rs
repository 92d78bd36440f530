//! Products of random and chosen words, vectors and shapes.

use chacha20::ChaCha20Rng;
use papir_core::device::{Device, TileShape, Tiles, Words};
use papir_testkit::device::PlainDevice;
use rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use crate::gpu;

const ALL: [Words; 3] = [Words::Unsigned8, Words::Signed16, Words::Signed32];

/// Compares the products of a GPU with plain ones.
fn check(gpu: &dyn Device, shape: TileShape, tiles: &[u8], vectors: &[Vec<u64>], bits: u32) {
    let tiles = Tiles::new(shape.words, shape.columns, tiles).unwrap();
    assert_eq!(tiles.shape(), shape);
    let vectors: Vec<&[u64]> = vectors.iter().map(Vec::as_slice).collect();
    let [found, expected] = [gpu, &PlainDevice::default()].map(|device| {
        device
            .hold(tiles)
            .unwrap()
            .products(&vectors, bits)
            .unwrap()
    });
    let count = vectors.len();
    assert!(
        found == expected,
        "{shape:?}, {count} vectors of {bits} bits: wrong products"
    );
}

fn tiles_of(shape: TileShape, fill: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut tiles = vec![0; shape.rows / 64 * shape.group_bytes()];
    fill(&mut tiles);
    tiles
}

#[test]
fn random_products_are_the_plain_ones() {
    let Some(gpu) = gpu() else { return };
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for words in ALL {
        for (rows, columns) in [(64, 1), (64, 3), (128, 33), (192, 100), (320, 4097)] {
            let shape = TileShape {
                words,
                rows,
                columns,
            };
            let tiles = tiles_of(shape, |tiles| rng.fill_bytes(tiles));
            for (count, bits) in [
                (1, 45),
                (1, 63),
                (2, 32),
                (5, 1),
                (9, 24),
                (31, 45),
                (65, 50),
                (128, 33),
            ] {
                let mut vectors = vec![vec![0u64; columns]; count];
                // Bits above the modulus are ignored.
                vectors
                    .iter_mut()
                    .flatten()
                    .for_each(|x| *x = rng.next_u64());
                check(&*gpu, shape, &tiles, &vectors, bits);
            }
        }
    }
}

/// Sums of the largest products, for more columns than a 32-bit sum holds.
#[test]
fn chosen_products_do_not_overflow() {
    let Some(gpu) = gpu() else { return };
    for (words, columns) in [
        (Words::Unsigned8, 200_000),
        (Words::Signed16, 140_000),
        (Words::Signed32, 70_000),
    ] {
        let shape = TileShape {
            words,
            rows: 64,
            columns,
        };
        for byte in [0x00, 0x7f, 0x80, 0xff] {
            let tiles = tiles_of(shape, |tiles| tiles.fill(byte));
            for digit in [0x00, 0x7f, 0x80, 0xff] {
                let vectors = vec![vec![u64::from_le_bytes([digit; 8]); columns]; 2];
                check(&*gpu, shape, &tiles, &vectors, 48);
            }
        }
    }
}

/// Threads of a pool that wait for the GPU must not take up each other's work.
#[test]
fn a_pool_uses_a_gpu() {
    let Some(gpu) = gpu() else { return };
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let shape = TileShape {
        words: Words::Signed16,
        rows: 64,
        columns: 1000,
    };
    let tiles = tiles_of(shape, |tiles| rng.fill_bytes(tiles));
    let held = gpu
        .hold(Tiles::new(shape.words, shape.columns, &tiles).unwrap())
        .unwrap();
    let vectors: Vec<Vec<u64>> = (0..32)
        .map(|_| (0..shape.columns).map(|_| rng.next_u64()).collect())
        .collect();
    let vectors: Vec<&[u64]> = vectors.iter().map(Vec::as_slice).collect();
    let expected = held.products(&vectors, 45).unwrap();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(4)
        .build()
        .unwrap();
    pool.install(|| {
        (0..2000)
            .into_par_iter()
            .for_each(|_| assert!(held.products(&vectors, 45).unwrap() == expected));
    });
}

#[test]
fn several_matrices_share_a_gpu() {
    let Some(gpu) = gpu() else { return };
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let shape = TileShape {
        words: Words::Signed16,
        rows: 256,
        columns: 500,
    };
    let held: Vec<_> = (0..4)
        .map(|_| {
            let tiles = tiles_of(shape, |tiles| rng.fill_bytes(tiles));
            let tiles = Tiles::new(shape.words, shape.columns, &tiles).unwrap();
            (
                gpu.hold(tiles).unwrap(),
                PlainDevice::default().hold(tiles).unwrap(),
            )
        })
        .collect();
    let vector: Vec<u64> = (0..shape.columns).map(|_| rng.next_u64()).collect();
    std::thread::scope(|scope| {
        for (held, plain) in &held {
            let vector = &vector;
            scope.spawn(move || {
                for _ in 0..20 {
                    let [found, expected] =
                        [held, plain].map(|one| one.products(&[vector], 45).unwrap());
                    assert!(found == expected, "products of matrices side by side");
                }
            });
        }
    });
}
