//! Matrix of 4-bit words × query: every backend against the definition.

use crate::common::{byte_sums, bytes, digits, numbers};
use papir_kernels::{Backend, matvec_u4};

/// The sums by the definition, modulo 2^32.
fn naive(tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize) -> Vec<u32> {
    byte_sums(128, tiles, quads, planes, plane_count, |row, byte| {
        if row < 64 { byte & 15 } else { byte >> 4 }
    })
}

/// Compares `pass` on every backend with the definition, from sums other than zero.
fn check(tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize) {
    let mut expected = naive(tiles, quads, planes, plane_count);
    let start: Vec<u32> = numbers(7).map(|n| n as u32).take(expected.len()).collect();
    for (sum, start) in expected.iter_mut().zip(&start) {
        *sum = sum.wrapping_add(*start);
    }
    for backend in Backend::available() {
        let mut out = start.clone();
        matvec_u4::pass(backend, tiles, quads, planes, plane_count, &mut out);
        assert_eq!(
            out, expected,
            "{backend}, {quads} quads, {plane_count} planes"
        );
    }
}

#[test]
fn pass_is_the_product_for_every_shape() {
    for plane_count in 1..=4 {
        for quads in [1, 2, 3, 7, 8, 9, 31, 32, 33, 64, 65, 130] {
            for groups in [1, 3] {
                let tiles = bytes(groups * quads * 256, quads as u64);
                let planes = digits(quads * plane_count * 4, 99 + quads as u64);
                check(&tiles, quads, &planes, plane_count);
            }
        }
    }
}

#[test]
fn extreme_words_and_digits_do_not_overflow() {
    for (byte, digit) in [(0xff, -128), (0xff, 127), (0xf0, -128), (0x0f, -128)] {
        let quads = 20_000;
        let tiles = vec![byte; quads * 256];
        check(&tiles, quads, &vec![digit; quads * 16], 4);
        check(&tiles, quads, &vec![digit; quads * 4], 1);
    }
}

#[test]
fn no_quads_or_no_groups_add_nothing() {
    for backend in Backend::available() {
        let mut out = [5; 128];
        matvec_u4::pass(backend, &[], 0, &[], 4, &mut out);
        assert_eq!(out, [5; 128]);
        matvec_u4::pass(backend, &[], 3, &[1; 48], 4, &mut []);
    }
}

#[test]
fn pass_many_equals_single_passes() {
    let groups = 2;
    let quads = 150;
    let plane_count = 3;
    let tiles = bytes(groups * quads * 256, 1);
    let queries: Vec<Vec<i8>> = (0..3)
        .map(|q| digits(quads * plane_count * 4, q * 1000))
        .collect();
    let expected: Vec<Vec<u32>> = queries
        .iter()
        .map(|q| naive(&tiles, quads, q, plane_count))
        .collect();
    let queries: Vec<&[i8]> = queries.iter().map(Vec::as_slice).collect();
    for backend in Backend::available() {
        let mut sums = vec![vec![0; 128 * groups]; 3];
        let mut outs: Vec<&mut [u32]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
        matvec_u4::pass_many(backend, &tiles, quads, &queries, plane_count, &mut outs);
        assert_eq!(sums, expected, "{backend}");
    }
}

#[test]
#[should_panic(expected = "bytes of the tiles")]
fn a_tile_of_the_wrong_length_panics() {
    matvec_u4::pass(Backend::current(), &[0; 255], 1, &[0; 4], 1, &mut [0; 128]);
}
