//! 32-bit matrix × two vectors: every backend against the definition.

use papir_kernels::{Backend, mat32};
use papir_reference::matrix;

/// Pseudorandom numbers from a seed.
fn numbers(count: usize, seed: u64) -> Vec<i32> {
    let mixed = (seed..).map(|i| (i ^ i << 17).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed.map(|n| (n >> 32) as i32).take(count).collect()
}

/// The sums by the definition, modulo 2^64.
fn naive(tiles: &[i32], cols: usize, y: &[i32]) -> Vec<i64> {
    let rows = tiles.len().checked_div(cols).unwrap_or(0);
    let vector: Vec<i64> = y.iter().map(|&y| i64::from(y)).collect();
    let entry = |row: usize, c: usize| i64::from(tiles[row / 64 * 64 * cols + c * 64 + row % 64]);
    let product = matrix::times_vector(rows, entry, &vector);
    product.into_iter().map(|sum| sum as i64).collect()
}

/// Compares `pass` on every backend with the definition, from sums other than zero.
fn check(tiles: &[i32], cols: usize, y0: &[i32], y1: &[i32]) {
    let plus = |sums: Vec<i64>, start: i64| -> Vec<i64> {
        sums.into_iter()
            .map(|sum| sum.wrapping_add(start))
            .collect()
    };
    let expected = [
        plus(naive(tiles, cols, y0), 3),
        plus(naive(tiles, cols, y1), -4),
    ];
    for backend in Backend::available() {
        let mut out0 = vec![3; expected[0].len()];
        let mut out1 = vec![-4; expected[1].len()];
        mat32::pass(backend, tiles, cols, y0, y1, &mut out0, &mut out1);
        assert_eq!([out0, out1], expected, "{backend}, {cols} columns");
    }
}

#[test]
fn pass_is_the_product_for_every_shape() {
    for cols in [1, 2, 31, 32, 33, 100] {
        for groups in [1, 2, 3] {
            let tiles = numbers(groups * cols * 64, cols as u64);
            let y = numbers(2 * cols, 77);
            check(&tiles, cols, &y[..cols], &y[cols..]);
        }
    }
}

#[test]
fn extreme_sums_wrap() {
    for value in [i32::MIN, i32::MAX] {
        let tiles = vec![value; 64 * 70];
        check(&tiles, 70, &[i32::MIN; 70], &[i32::MAX; 70]);
        check(&tiles, 70, &[(1 << 28) - 1; 70], &[1 - (1 << 28); 70]);
    }
}

#[test]
fn no_columns_or_no_groups_add_nothing() {
    for backend in Backend::available() {
        let mut out0 = [5; 64];
        let mut out1 = [6; 64];
        mat32::accumulate(backend, &[], &[], &[], &mut out0, &mut out1);
        assert_eq!((out0, out1), ([5; 64], [6; 64]));
        mat32::pass(backend, &[], 2, &[1, 2], &[3, 4], &mut [], &mut []);
    }
}

#[test]
fn pass_many_equals_single_passes() {
    let groups = 2;
    let cols = 75;
    let tiles = numbers(groups * cols * 64, 5);
    let ys = numbers(6 * cols, 50);
    let ys: Vec<[&[i32]; 2]> = ys
        .chunks(2 * cols)
        .map(|y| [&y[..cols], &y[cols..]])
        .collect();
    for backend in Backend::available() {
        let mut sums = vec![[vec![0; 64 * groups], vec![0; 64 * groups]]; 3];
        let mut outs: Vec<[&mut [i64]; 2]> = sums
            .iter_mut()
            .map(|pair| pair.each_mut().map(Vec::as_mut_slice))
            .collect();
        mat32::pass_many(backend, &tiles, cols, &ys, &mut outs);
        for (sums, ys) in sums.iter().zip(&ys) {
            assert_eq!(*sums, ys.map(|y| naive(&tiles, cols, y)), "{backend}");
        }
    }
}

#[test]
#[should_panic(expected = "values of the tiles")]
fn a_tile_of_the_wrong_length_panics() {
    mat32::pass(
        Backend::current(),
        &[0; 63],
        1,
        &[0],
        &[0],
        &mut [0; 64],
        &mut [0; 64],
    );
}
