//! Products in the residue number system against schoolbook multiplication.

use std::collections::BTreeSet;

use papir_core::NoProgress;

use crate::shared::residues::{add_times, times};
use crate::zip::residues::{Dimensions, Residues, primes_for};

fn number(digits: usize, seed: u64) -> Vec<u16> {
    let word = |i: u64| {
        (seed + 1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left((i * 7 % 64) as u32)
            ^ (i * i)
    };

    (0..digits as u64)
        .map(|i| if seed == 0 { 0xffff } else { word(i) as u16 })
        .collect()
}

fn words(digits: &[u16]) -> Vec<u64> {
    let word = |part: &[u16]| {
        part.iter()
            .rev()
            .fold(0, |word, digit| word << 16 | u64::from(*digit))
    };
    digits.chunks(4).map(word).collect()
}

/// Returns a·2^bits.
fn shifted(a: &[u64], bits: usize) -> Vec<u64> {
    let mut out = vec![0; bits / 64];
    let low = if bits.is_multiple_of(64) {
        a.to_vec()
    } else {
        times(&times(a, 1 << (bits % 64 / 2)), 1 << (bits % 64 / 2))
    };

    out.extend(low);
    out
}

/// Adds a·b to `sum`, by the schoolbook.
fn add_product(sum: &mut [u64], a: &[u64], b: &[u16]) {
    for (i, digit) in b.iter().enumerate() {
        add_times(sum, &shifted(a, 16 * i), u32::from(*digit));
    }
}

#[test]
fn products_are_those_of_wide_integers() {
    for (rows, columns, digits) in [(1, 1, 1), (3, 5, 8), (65, 7, 31), (70, 2, 40)] {
        let dimensions = Dimensions { rows, columns };
        let bits = 16 * 2 * digits as u32 + columns.next_power_of_two().ilog2();
        let system = Residues::new(bits, digits);
        let at = |row: usize, column: usize| number(digits, (row * columns + column) as u64);
        let numbers: Vec<Vec<u16>> = (0..rows * columns)
            .map(|i| at(i / columns, i % columns))
            .collect();

        let mut matrix = vec![0; dimensions.residues(system.system.primes().len())];
        let digits_at = |row: usize, column: usize| &numbers[row * columns + column][..];
        let (even, odd): (BTreeSet<_>, BTreeSet<_>) = (0..rows).partition(|row| row % 2 == 0);
        for rows in [even, odd] {
            system.fill(dimensions, &rows, digits_at, &mut matrix, &NoProgress);
        }

        let vectors: Vec<Vec<Vec<u16>>> = [0, 1000]
            .map(|base| {
                (0..columns)
                    .map(|i| number(digits, base + i as u64))
                    .collect()
            })
            .into();

        let halves: Vec<_> = vectors.iter().map(|vector| system.vector(vector)).collect();
        let products = system.products(dimensions, &matrix, &halves);

        for (vector, products) in vectors.iter().zip(&products) {
            for (row, product) in products.iter().enumerate() {
                let mut expected = vec![0; product.len()];
                for (column, number) in vector.iter().enumerate() {
                    add_product(&mut expected, &words(&at(row, column)), number);
                }
                assert!(*product == expected, "{rows} × {columns}, row {row}");
            }
        }
    }
}

#[test]
fn primes_are_enough_and_no_more() {
    assert_eq!(
        (primes_for(6139), primes_for(6141), primes_for(6142)),
        (192, 192, 193)
    );

    let system = Residues::new(100, 1);
    let product: f64 = system
        .system
        .primes()
        .iter()
        .map(|prime| f64::from(*prime).log2())
        .sum();
    assert!(product > 102.0 && system.system.primes().len() == 4);

    assert!(
        Residues::new(6139, 1)
            .system
            .primes()
            .iter()
            .all(|prime| *prime > u32::MAX - (1 << 16))
    );
}
