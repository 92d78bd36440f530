//! Seeded words and moduli for the kernel tests.
#![allow(dead_code, clippy::unwrap_used, reason = "no test file uses all of it")]

use papir_reference::matrix;
use papir_reference::poly::primitive_root;

/// SplitMix64: reproducible words for tests.
pub(crate) struct Words(pub(crate) u64);

impl Words {
    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(bound)) >> 64) as u64
    }

    /// Residues below q, the extremes among them.
    pub(crate) fn residues(&mut self, length: usize, q: u32) -> Vec<u32> {
        let extremes = [0, 1, q / 2, q / 2 + 1, q - 1];
        (0..length)
            .map(|_| match self.below(16) as usize {
                k if k < extremes.len() => extremes[k].min(q - 1),
                _ => self.below(u64::from(q)) as u32,
            })
            .collect()
    }

    pub(crate) fn integers(&mut self, length: usize) -> Vec<i32> {
        (0..length).map(|_| self.word() as i32).collect()
    }
}

/// Pseudorandom numbers from a seed.
pub(crate) fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    (seed..).map(|i| {
        let mixed = (i ^ i >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 5
    })
}

/// Lengths with and without tails at every width of a register.
pub(crate) const LENGTHS: [usize; 14] = [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 100, 2048];

/// Moduli from the least to the largest, odd and even.
pub(crate) const MODULI: [u32; 9] = [
    2,
    3,
    4,
    17,
    65537,
    1 << 20,
    268_369_921,
    (1 << 30) - 35,
    (1 << 30) - 1,
];

/// The largest primes below `bound` that are 1 modulo 2d.
pub(crate) fn primes(d: usize, bound: u32) -> impl Iterator<Item = u32> {
    let step = 2 * d as u32;
    let candidates = (1..bound.div_ceil(step)).rev().map(move |k| k * step + 1);
    candidates.filter(|&q| (2..).take_while(|f| f * f <= q).all(|f| q % f != 0))
}

/// A modulus with a primitive 2d-th root of unity.
pub(crate) fn modulus_and_root(d: usize, bound: u32) -> (u32, u32) {
    let q = primes(d, bound).next().unwrap();
    (q, primitive_root(2 * d as u64, q).unwrap())
}

/// Bytes of a matrix.
pub(crate) fn bytes(count: usize, seed: u64) -> Vec<u8> {
    numbers(seed).map(|n| n as u8).take(count).collect()
}

/// Digits of a query for a matrix of bytes.
pub(crate) fn digits(count: usize, seed: u64) -> Vec<i8> {
    numbers(seed).map(|n| n as i8).take(count).collect()
}

/// Sums of a matrix in tiles of bytes times a query, by the definition, modulo 2^32. A group has `rows`
/// rows; `word` gives the word of a row in the group from its byte.
pub(crate) fn byte_sums(
    rows: usize,
    tiles: &[u8],
    quads: usize,
    planes: &[i8],
    plane_count: usize,
    word: impl Fn(usize, u8) -> u8,
) -> Vec<u32> {
    let groups = tiles.len().checked_div(quads * 256).unwrap_or(0);
    let value = |column: usize| {
        let digit = |p| i64::from(planes[(column / 4 * plane_count + p) * 4 + column % 4]);
        let digits: Vec<i64> = (0..plane_count).map(digit).collect();
        matrix::from_digits(&digits, 8)
    };
    let vector: Vec<i64> = (0..4 * quads).map(value).collect();
    let entry = |row: usize, column: usize| {
        let position = (column / 4 * 64 + row % 64) * 4 + column % 4;
        i64::from(word(row % rows, tiles[row / rows * quads * 256 + position]))
    };
    let product = matrix::times_vector(rows * groups, entry, &vector);
    product.into_iter().map(|sum| sum as u32).collect()
}
