//! Second product, H·ck_o, in a residue number system (section 4.3).
//!
//! The system computes exact sums of products of wide integers with products of 32-bit words. Its
//! primes are the largest below 2³²; their number depends on the largest sum. The matrix is stored
//! as centred residues, in row groups of 64 integers, each with a tile of [`papir_kernels::mat32`]
//! for every prime. A vector's residues are split into halves of 16 bits, which are two vectors
//! that share one read of the matrix. A sum of n products of 31 and 16 bits is far below 2⁶³.

use std::collections::BTreeSet;

use papir_core::{Progress, parallel};
use papir_kernels::Backend;
use papir_kernels::mat32::{self, ROWS};
use papir_ring::prime::is_prime;

use crate::shared::residues::{System, centred};

/// Number of bits of a number's digit, and of half a residue.
const HALF_BITS: u32 = 16;

/// The residue number system, of primes just below 2³².
#[derive(Clone)]
pub(super) struct Residues {
    pub(super) system: System,
}

/// Dimensions of a matrix of wide integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dimensions {
    /// Number of integers in a column.
    pub(super) rows: usize,
    /// Number of columns, n.
    pub(super) columns: usize,
}

impl Dimensions {
    /// Returns the number of residues modulo `primes` primes.
    pub(super) fn residues(&self, primes: usize) -> usize {
        primes * self.rows.next_multiple_of(ROWS) * self.columns
    }
}

/// Returns the number of primes whose product exceeds four times any number of `bits` bits.
pub(super) fn primes_for(bits: u32) -> usize {
    // The primes exceed 2³² − 2¹⁶.
    ((f64::from(bits) + 2.0) / (32.0 - 3e-5)).ceil() as usize
}

impl Residues {
    /// Creates a system for sums of `bits` bits, of numbers with `digits` 16-bit digits.
    pub(super) fn new(bits: u32, digits: usize) -> Self {
        let primes: Vec<u32> = (0..u32::MAX)
            .rev()
            .filter(|n| is_prime(u64::from(*n)))
            .take(primes_for(bits))
            .collect();
        Self {
            system: System::new(primes, digits, HALF_BITS),
        }
    }

    /// Writes the residues of these rows of a matrix. The integer in (row, column) has the digits
    /// `digits(row, column)`. Other rows are unchanged; rows beyond the last are zero.
    pub(super) fn fill<'a>(
        &self,
        dimensions: Dimensions,
        rows: &BTreeSet<usize>,
        digits: impl Fn(usize, usize) -> &'a [u16] + Sync,
        words: &mut [i32],
        progress: &dyn Progress,
    ) {
        let prime_words = dimensions.columns * ROWS;

        progress.stage("residues", rows.len() as u64);
        let groups = words
            .chunks_exact_mut(self.system.primes().len() * prime_words)
            .enumerate();
        for (group, words) in groups {
            let rows: Vec<usize> = rows
                .range(group * ROWS..(group + 1) * ROWS)
                .copied()
                .collect();

            let parts = words.chunks_mut(ROWS * prime_words).enumerate();
            parallel::for_each(parts, |(part, words)| {
                for column in 0..dimensions.columns {
                    for two in rows.chunks(2) {
                        // Residues are made for two numbers at once; an odd one is its own partner.
                        let numbers =
                            [two[0], two[two.len() - 1]].map(|row| widened(digits(row, column)));
                        let numbers = numbers.each_ref().map(Vec::as_slice);
                        self.put_two(part, two, column, numbers, words);
                    }
                }
            });
            progress.advance(rows.len() as u64);
        }
    }

    /// Writes the residues of one column's integers in one or two rows, modulo the primes of one
    /// part.
    fn put_two(
        &self,
        part: usize,
        rows: &[usize],
        column: usize,
        numbers: [&[i32]; 2],
        words: &mut [i32],
    ) {
        let primes = self.system.primes_of(part);
        let prime_words = words.len() / primes.len().min(ROWS);

        for (row, residues) in rows.iter().zip(self.system.residues(part, numbers)) {
            let primes = words.chunks_exact_mut(prime_words).zip(primes);
            for ((words, prime), residue) in primes.zip(residues) {
                words[column * ROWS + row % ROWS] = centred(residue, *prime);
            }
        }
    }

    /// Returns the residues of a vector for each prime, split into low and high halves.
    pub(super) fn vector(&self, numbers: &[Vec<u16>]) -> Vec<[Vec<i32>; 2]> {
        let numbers: Vec<Vec<i32>> = numbers.iter().map(|number| widened(number)).collect();
        let parts = parallel::map(0..self.system.parts(), |part| {
            self.vector_part(part, &numbers)
        });
        parts.into_iter().flatten().collect()
    }

    /// Returns the residues of a vector for each prime of one part, split into low and high halves.
    fn vector_part(&self, part: usize, numbers: &[Vec<i32>]) -> Vec<[Vec<i32>; 2]> {
        let residues = numbers.chunks(2).flat_map(|two| {
            // The partner of an odd number is the number again, and its residues are dropped.
            let both = self.system.residues(part, [&two[0], &two[two.len() - 1]]);
            both.into_iter().take(two.len())
        });
        let residues: Vec<[u32; ROWS]> = residues.collect();

        let primes = self.system.primes_of(part).len();
        (0..primes)
            .map(|lane| [half(&residues, lane, 0), half(&residues, lane, HALF_BITS)])
            .collect()
    }

    /// Multiplies a matrix by vectors in one read. Returns, for each vector and row, the exact sum
    /// in little-endian words.
    pub(super) fn products(
        &self,
        dimensions: Dimensions,
        matrix: &[i32],
        vectors: &[Vec<[Vec<i32>; 2]>],
    ) -> Vec<Vec<Vec<u64>>> {
        let backend = Backend::current();
        let prime_words = dimensions.columns * ROWS;
        let tiles = matrix.chunks_exact(prime_words).enumerate();
        let count = self.system.primes().len();

        let residues = parallel::map(tiles, |(i, tile)| {
            // A row group has one tile for each prime, so the tiles of a prime are `count` apart.
            let ys: Vec<[&[i32]; 2]> = vectors
                .iter()
                .map(|vector| vector[i % count].each_ref().map(Vec::as_slice))
                .collect();
            pass(
                backend,
                tile,
                dimensions.columns,
                &ys,
                self.system.primes()[i % count],
            )
        });

        let sums = (0..vectors.len()).map(|vector| {
            parallel::map(0..dimensions.rows, |row| {
                let of_group = &residues[row / ROWS * count..][..count];
                let of_row = of_group.iter().map(|tiles| tiles[vector][row % ROWS]);
                self.system.lift(of_row)
            })
        });
        sums.collect()
    }
}

/// Returns digits as factors.
fn widened(digits: &[u16]) -> Vec<i32> {
    digits.iter().map(|digit| i32::from(*digit)).collect()
}

/// Returns half of each number's residue modulo the prime of a lane: its 16 bits from `shift` on.
fn half(residues: &[[u32; ROWS]], lane: usize, shift: u32) -> Vec<i32> {
    residues
        .iter()
        .map(|words| (words[lane] >> shift & 0xffff) as i32)
        .collect()
}

/// Multiplies one prime's tile by vectors in halves, modulo the prime.
fn pass(
    backend: Backend,
    tile: &[i32],
    columns: usize,
    ys: &[[&[i32]; 2]],
    prime: u32,
) -> Vec<[u32; ROWS]> {
    let mut sums = vec![[[0i64; ROWS]; 2]; ys.len()];
    let mut outs: Vec<[&mut [i64]; 2]> = sums
        .iter_mut()
        .map(|both| both.each_mut().map(|sums| &mut sums[..]))
        .collect();
    mat32::pass_many(backend, tile, columns, ys, &mut outs);

    let prime = i64::from(prime);
    sums.iter().map(|halves| joined(halves, prime)).collect()
}

/// Joins the sums of both halves modulo a prime.
fn joined(halves: &[[i64; ROWS]; 2], prime: i64) -> [u32; ROWS] {
    let [low, high] = halves;
    std::array::from_fn(|lane| {
        // Reduced before the shift: a residue shifted by 16 bits fits 64, a sum of thousands may
        // not.
        let high = high[lane].rem_euclid(prime) << HALF_BITS;
        (low[lane].rem_euclid(prime) + high).rem_euclid(prime) as u32
    })
}
