//! Matrix of 32-bit words × vectors: every backend against the definition.

use papir_kernels::{Backend, matvec_i32};
use papir_reference::matrix;

use crate::common::Words;

/// The sums by the definition, modulo 2^bits.
fn naive(tiles: &[i32], cols: usize, y: &[u64], bits: u32) -> Vec<u64> {
    let rows = tiles.len().checked_div(cols).unwrap_or(0);
    let vector: Vec<i64> = y.iter().map(|&y| y as i64).collect();
    let entry = |row: usize, c: usize| i64::from(tiles[row / 64 * 64 * cols + c * 64 + row % 64]);
    let product = matrix::times_vector(rows, entry, &vector);
    product
        .into_iter()
        .map(|sum| sum as u64 & ((1 << bits) - 1))
        .collect()
}

/// Compares every backend with the definition, from sums other than zero.
fn check(tiles: &[i32], cols: usize, ys: &[Vec<u64>], bits: u32) {
    let mask = (1u64 << bits) - 1;
    let start = 0x0123_4567_89ab_cdef & mask;
    let views: Vec<&[u64]> = ys.iter().map(Vec::as_slice).collect();
    for backend in Backend::available() {
        let mut sums = vec![vec![start; tiles.len() / cols]; ys.len()];
        let mut outs: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
        matvec_i32::pass_many(backend, tiles, cols, &views, bits, &mut outs);
        for (sums, y) in sums.iter().zip(ys) {
            let expected = naive(tiles, cols, y, bits)
                .into_iter()
                .map(|sum| sum.wrapping_add(start) & mask);
            assert!(
                sums.iter().copied().eq(expected),
                "{backend}, {cols} columns, {bits} bits"
            );
        }
    }
}

#[test]
fn pass_many_is_the_product_for_every_shape() {
    let mut words = Words(1);
    for cols in [1, 2, 31, 33, 63, 64, 65, 200] {
        for (groups, vectors, bits) in [(1, 1, 50), (2, 3, 52), (3, 2, 53), (1, 4, 63), (1, 5, 1)] {
            let tiles = words.integers(groups * cols * 64);
            let ys: Vec<Vec<u64>> = (0..vectors)
                .map(|_| (0..cols).map(|_| words.word()).collect())
                .collect();
            check(&tiles, cols, &ys, bits);
        }
    }
}

#[test]
fn every_number_of_vectors_shares_the_pass() {
    let mut words = Words(2);
    let cols = 130;
    let tiles = words.integers(2 * cols * 64);
    for vectors in 1..=40 {
        let ys: Vec<Vec<u64>> = (0..vectors)
            .map(|_| (0..cols).map(|_| words.below(1 << 50)).collect())
            .collect();
        check(&tiles, cols, &ys, 50);
    }
}

#[test]
fn extreme_sums_wrap() {
    for value in [i32::MIN, i32::MAX, -1] {
        for bits in [20, 52, 53, 63] {
            let ys = [0, u64::MAX, 1 << (bits - 1), (1 << (bits - 1)) - 1].map(|y| vec![y; 5000]);
            check(&vec![value; 64 * 5000], 5000, &ys, bits);
        }
    }
}

#[test]
fn no_columns_no_groups_or_no_vectors_add_nothing() {
    for backend in Backend::available() {
        let mut sums = [5; 64];
        matvec_i32::pass_many(backend, &[], 0, &[&[]], 50, &mut [&mut sums]);
        assert_eq!(sums, [5; 64]);
        matvec_i32::pass_many(backend, &[], 2, &[&[1, 2]], 50, &mut [&mut []]);
        matvec_i32::pass_many(backend, &[0; 64], 1, &[], 50, &mut []);
    }
}

#[test]
#[should_panic(expected = "words of the tiles")]
fn a_tile_of_the_wrong_length_panics() {
    matvec_i32::pass_many(
        Backend::current(),
        &[0; 63],
        1,
        &[&[0]],
        50,
        &mut [&mut [0; 64]],
    );
}
