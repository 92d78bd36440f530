//! Matrix of 16-bit words × query: every backend against the definition.

use crate::common::numbers;
use papir_kernels::{Backend, matvec_i16};
use papir_reference::matrix;
use proptest::prelude::*;

fn words(count: usize, seed: u64) -> Vec<i16> {
    numbers(seed).map(|n| n as i16).take(count).collect()
}

fn digits(count: usize, seed: u64) -> Vec<i16> {
    let digits = numbers(seed).map(|n| (n % 2049) as i16 - 1024);
    digits.take(count).collect()
}

/// The sums by the definition, exact in 128 bits, modulo 2^64.
fn naive(tiles: &[i16], pairs: usize, planes: &[i16], plane_count: usize) -> Vec<u64> {
    let groups = tiles.len().checked_div(pairs * 128).unwrap_or(0);
    let value = |column: usize| {
        let digit = |p| i64::from(planes[(column / 2 * plane_count + p) * 2 + column % 2]);
        let digits: Vec<i64> = (0..plane_count).map(digit).collect();
        matrix::from_digits(&digits, 11)
    };
    let vector: Vec<i64> = (0..2 * pairs).map(value).collect();
    let entry = |row: usize, column: usize| {
        let position = (column / 2 * 64 + row % 64) * 2 + column % 2;
        i64::from(tiles[row / 64 * pairs * 128 + position])
    };
    let product = matrix::times_vector(64 * groups, entry, &vector);
    product.into_iter().map(|sum| sum as u64).collect()
}

/// Compares `pass` on every backend with the definition, from sums other than zero.
fn check(tiles: &[i16], pairs: usize, planes: &[i16], plane_count: usize) {
    let mut expected = naive(tiles, pairs, planes, plane_count);
    let start: Vec<u64> = numbers(7).map(|n| n << 7).take(expected.len()).collect();
    for (sum, start) in expected.iter_mut().zip(&start) {
        *sum = sum.wrapping_add(*start);
    }
    for backend in Backend::available() {
        let mut out = start.clone();
        matvec_i16::pass(backend, tiles, pairs, planes, plane_count, &mut out);
        assert_eq!(
            out, expected,
            "{backend}, {pairs} pairs, {plane_count} planes"
        );
    }
}

#[test]
fn pass_is_the_product_for_every_shape() {
    for plane_count in 1..=matvec_i16::MAX_PLANES {
        for pairs in [1, 2, 3, 30, 31, 32, 61, 62, 63, 124, 125, 200] {
            for groups in [1, 3] {
                let tiles = words(groups * pairs * 128, pairs as u64);
                let planes = digits(pairs * plane_count * 2, 99 + pairs as u64);
                check(&tiles, pairs, &planes, plane_count);
            }
        }
    }
}

#[test]
fn large_tiles_read_in_streams_are_complete() {
    for (pairs, plane_count) in [(4096, 4), (4099, 1), (4097, 3), (4223, 2), (4101, 5)] {
        let tiles = words(pairs * 128, 3);
        let planes = digits(pairs * plane_count * 2, 4);
        check(&tiles, pairs, &planes, plane_count);
    }
    for plane_count in [4, 5] {
        check(
            &vec![-32768; 4100 * 128],
            4100,
            &vec![-1024; 4100 * 2 * plane_count],
            plane_count,
        );
    }
}

#[test]
fn extreme_words_and_digits_do_not_overflow() {
    for (word, digit) in [
        (-32768, -1024),
        (-32768, 1024),
        (32767, 1024),
        (32767, -1024),
    ] {
        let pairs = 100;
        let tiles = vec![word; 2 * pairs * 128];
        for plane_count in [1, 4, 5] {
            check(
                &tiles,
                pairs,
                &vec![digit; pairs * 2 * plane_count],
                plane_count,
            );
        }
    }
}

#[test]
fn no_pairs_or_no_groups_add_nothing() {
    for backend in Backend::available() {
        let mut out = [5; 64];
        matvec_i16::accumulate(backend, &[], &[], 4, &mut out);
        assert_eq!(out, [5; 64]);
        matvec_i16::pass(backend, &[], 3, &[1; 24], 4, &mut []);
        matvec_i16::pass(backend, &[], 3, &[1; 30], 5, &mut []);
    }
}

#[test]
fn pass_many_equals_single_passes() {
    let groups = 2;
    let pairs = 150;
    let tiles = words(groups * pairs * 128, 1);
    for plane_count in [4, 5] {
        let queries: Vec<Vec<i16>> = (0..3)
            .map(|q| digits(pairs * plane_count * 2, q * 1000))
            .collect();
        let expected: Vec<Vec<u64>> = queries
            .iter()
            .map(|q| naive(&tiles, pairs, q, plane_count))
            .collect();
        let queries: Vec<&[i16]> = queries.iter().map(Vec::as_slice).collect();
        for backend in Backend::available() {
            let mut sums = vec![vec![0; 64 * groups]; 3];
            let mut outs: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
            matvec_i16::pass_many(backend, &tiles, pairs, &queries, plane_count, &mut outs);
            assert_eq!(sums, expected, "{backend}, {plane_count} planes");
        }
    }
}

#[test]
#[should_panic(expected = "6 planes: expected 1 to 5")]
fn too_many_planes_panic() {
    matvec_i16::pass(Backend::current(), &[0; 128], 1, &[0; 12], 6, &mut [0; 64]);
}

#[test]
#[should_panic(expected = "words of the tiles")]
fn a_tile_of_the_wrong_length_panics() {
    matvec_i16::pass(Backend::current(), &[0; 127], 1, &[0; 2], 1, &mut [0; 64]);
}

#[test]
fn scattered_columns_are_gathered_back() {
    let groups = 2;
    let pairs = 150;
    let columns: Vec<Vec<i16>> = (0..2 * pairs)
        .map(|c| words(64 * groups, 500 * c as u64))
        .collect();
    let mut tiles = vec![0; groups * pairs * 128];
    for (c, column) in columns.iter().enumerate() {
        matvec_i16::scatter_column(&mut tiles, groups, pairs, c, column);
    }
    let mut by_pairs = vec![0; tiles.len()];
    for (k, pair) in columns.chunks(2).enumerate() {
        matvec_i16::scatter_pair(&mut by_pairs, groups, pairs, k, &pair[0], &pair[1]);
    }
    assert_eq!(tiles, by_pairs);
    let mut found = vec![0; 64 * groups];
    for (c, column) in columns.iter().enumerate() {
        matvec_i16::gather_column(&tiles, groups, pairs, c, &mut found);
        assert_eq!(&found, column, "column {c}");
    }
    for (g, tile) in tiles.chunks(pairs * 128).enumerate() {
        for (l, k, h) in [(0, 0, 0), (63, 20, 1), (17, 5, 0), (1, 1, 1)] {
            assert_eq!(tile[(k * 64 + l) * 2 + h], columns[2 * k + h][g * 64 + l]);
        }
        for (first, count) in [
            (0, 300),
            (0, 128),
            (3, 1),
            (2, 257),
            (149, 2),
            (150, 0),
            (4, 7),
        ] {
            let mut rows = vec![0; 64 * count];
            matvec_i16::gather_rows(tile, first, count, &mut rows);
            let mut row = vec![0; count];
            for l in 0..64 {
                matvec_i16::gather_row_block(tile, l, first, &mut row);
                let expected: Vec<i16> = (0..count)
                    .map(|c| columns[2 * first + c][g * 64 + l])
                    .collect();
                assert_eq!(row, expected);
                assert_eq!(rows[l * count..][..count], expected, "{first} {count}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "the tile has 2")]
fn columns_outside_the_tile_panic() {
    matvec_i16::gather_row_block(&[0; 256], 0, 1, &mut [0; 3]);
}

proptest! {
    #[test]
    fn planes_represent_the_values(
        values in proptest::collection::vec(any::<u64>(), 0..20),
        bits in 1u32..=55,
    ) {
        for plane_count in matvec_i16::planes_for_bits(bits)..=matvec_i16::MAX_PLANES {
            let mut planes = vec![77];
            matvec_i16::pack_planes(&values, bits, plane_count, &mut planes);
            prop_assert_eq!(planes.len(), values.len().div_ceil(2) * 2 * plane_count);
            prop_assert!(planes.iter().all(|x| (-1024..=1023).contains(x)));
            for c in 0..values.len().next_multiple_of(2) {
                let value = values.get(c).copied().unwrap_or(0);
                let digit = |p| i64::from(planes[(c / 2 * plane_count + p) * 2 + c % 2]);
                let digits: Vec<i64> = (0..plane_count).map(digit).collect();
                let found = matrix::from_digits(&digits, 11);
                prop_assert_eq!((found as u64).wrapping_sub(value) << (64 - bits), 0);
                if bits < 11 * plane_count as u32 {
                    prop_assert!((-(1i64 << (bits - 1))..1 << (bits - 1)).contains(&found));
                }
            }
        }
    }

    /// Compares products with values of 45 to 55 bits with those of the values before packing.
    #[test]
    fn products_with_long_values_are_correct_modulo_their_bits(
        values in proptest::collection::vec(any::<u64>(), 1..300),
        bits in 45u32..=55,
        seed in any::<u64>(),
    ) {
        let plane_count = matvec_i16::planes_for_bits(bits);
let pairs = values.len().div_ceil(2);
        prop_assert_eq!(plane_count, 5);
        let tiles = words(pairs * 128, seed);
        let mut planes = Vec::new();
        matvec_i16::pack_planes(&values, bits, plane_count, &mut planes);
        let entry = |row: usize, column: usize| {
            i64::from(tiles[(column / 2 * 64 + row) * 2 + column % 2])
        };
        let values: Vec<i64> = values.iter().map(|&value| (value & ((1 << bits) - 1)) as i64).collect();
        let expected = matrix::times_vector(64, entry, &values);
        for backend in Backend::available() {
            let mut out = vec![0; 64];
            matvec_i16::pass(backend, &tiles, pairs, &planes, plane_count, &mut out);
            for (&found, &expected) in out.iter().zip(&expected) {
                prop_assert_eq!(found.wrapping_sub(expected as u64) << (64 - bits), 0, "{}", backend);
            }
        }
    }
}
