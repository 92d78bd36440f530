//! Convolutions of sequences modulo n: exact over the integers, modulo many primes below 2²⁸ by
//! number-theoretic transforms, then reduced.
//!
//! A sequence is cut into blocks of half a transform's length. The products of blocks are summed as values, so
//! that each block of each sequence takes one transform.

use papir_core::Progress;
use papir_kernels::mat32::ROWS;
use papir_kernels::ntt::NttTable;
use papir_kernels::pointwise;
use papir_ring::prime::{ntt_primes, primitive_root};
use rayon::prelude::*;

use super::modulus::Modulus;
use crate::residues::System;

/// Degrees of transforms.
const DEGREES: std::ops::RangeInclusive<usize> = 16..=65536;
/// Bits of a prime: sums of 256 products fit a word of 64, more than there are blocks.
const PRIME_BITS: u32 = 28;
/// Numbers whose residues are computed together.
const RUN: usize = 16;
/// Runs whose residues primes take one after the other: 512 KiB.
const RUNS: usize = 128;
/// Sums that are lifted at a time.
const LIFTED: usize = 256;

/// A sequence, transformed: what others are convolved with.
pub(super) struct Convolution<'a> {
    n: &'a Modulus,
    count: usize,
    system: System,
    tables: Vec<NttTable>,
    /// For each prime the values of each block.
    values: Vec<Vec<u32>>,
}

impl<'a> Convolution<'a> {
    /// With integers of as many words as n has.
    pub(super) fn new(n: &'a Modulus, sequence: &[u64], progress: &dyn Progress) -> Self {
        let (words, count) = (n.words(), sequence.len() / n.words());
        let degree = (2 * count).next_power_of_two().clamp(*DEGREES.start(), *DEGREES.end());
        let bits = 128 * words as u32 + count.next_power_of_two().ilog2();
        let primes = primes(degree, bits);
        let table = |prime: &u32| {
            let root = primitive_root(*prime, 2 * degree)?;
            NttTable::new(*prime, root, degree).ok()
        };
        // Every prime is 1 modulo 2·degree.
        let tables = primes.par_iter().filter_map(table).collect();
        let mut convolution =
            Self { n, count, system: System::new(primes, 4 * words), tables, values: Vec::new() };
        progress.stage("transform", convolution.system.parts() as u64);
        let parts = 0..convolution.system.parts();
        let transform = |part| {
            progress.advance(1);
            convolution.transformed(part, sequence)
        };
        let values = parts.flat_map(transform).collect();
        convolution.values = values;
        convolution
    }

    fn half(&self) -> usize {
        self.tables.first().map_or(1, NttTable::degree) / 2
    }

    fn blocks(&self) -> usize {
        self.count.div_ceil(self.half())
    }

    /// The first terms of the convolution, as many as the sequences have, as elements.
    pub(super) fn with(&self, sequence: &[u64], progress: &dyn Progress) -> Vec<u64> {
        progress.stage("convolve", self.system.parts() as u64);
        let mut residues: Vec<Vec<u32>> = Vec::with_capacity(self.tables.len());
        for part in 0..self.system.parts() {
            let transformed = self.transformed(part, sequence);
            let primes = transformed.par_iter().enumerate();
            residues.par_extend(primes.map(|(lane, values)| self.multiplied(part * ROWS + lane, values)));
            progress.advance(1);
        }
        progress.stage("lift", self.count.div_ceil(LIFTED) as u64);
        let starts = (0..self.count).into_par_iter().step_by(LIFTED);
        let elements = starts.flat_map_iter(|start| {
            let end = self.count.min(start + LIFTED);
            let sums = (start..end).flat_map(|k| self.system.lift(residues.iter().map(move |of| of[k])));
            let sums: Vec<u64> = sums.collect();
            progress.advance(1);
            self.n.enter(&sums, sums.len() / (end - start))
        });
        elements.collect()
    }

    /// The values of a sequence's blocks modulo each prime of one part.
    fn transformed(&self, part: usize, sequence: &[u64]) -> Vec<Vec<u32>> {
        let (half, primes) = (self.half(), self.system.primes_of(part).len());
        let mut values = vec![vec![0; 2 * half * self.blocks()]; primes];
        let runs: Vec<Vec<[u32; ROWS]>> =
            sequence.par_chunks(RUN * self.n.words()).map(|run| self.residues(part, run)).collect();
        // A block of residues stays in the cache while all primes take theirs.
        for (block, runs) in runs.chunks(RUNS).enumerate() {
            values.par_iter_mut().enumerate().for_each(|(lane, values)| {
                for (k, residues) in (block * RUNS * RUN..).zip(runs.iter().flatten()) {
                    values[k / half * 2 * half + k % half] = residues[lane];
                }
            });
        }
        values.par_iter_mut().enumerate().for_each(|(lane, values)| {
            let table = &self.tables[part * ROWS + lane];
            values.chunks_exact_mut(2 * half).for_each(|block| table.forward(block));
        });
        values
    }

    /// Integers modulo the primes of one part.
    fn residues(&self, part: usize, integers: &[u64]) -> Vec<[u32; ROWS]> {
        let digits: Vec<u16> =
            integers.iter().flat_map(|word| [0, 16, 32, 48].map(|shift| (word >> shift) as u16)).collect();
        let numbers: Vec<&[u16]> = digits.chunks_exact(4 * self.n.words()).collect();
        let both = |two: &[&[u16]]| {
            let residues = self.system.residues(part, [two[0], two[two.len() - 1]]);
            residues.into_iter().take(two.len()).collect::<Vec<_>>()
        };
        numbers.chunks(2).flat_map(both).collect()
    }

    /// The convolution's terms modulo one prime, from a sequence's values.
    fn multiplied(&self, prime: usize, values: &[u32]) -> Vec<u32> {
        let (table, half) = (&self.tables[prime], self.half());
        let modulus = pointwise::Modulus::new(table.modulus());
        let mut terms = vec![0; half * (self.blocks() + 1)];
        for k in 0..self.blocks() {
            let mut sums = vec![0; 2 * half];
            for i in 0..=k {
                let other = block_of(&self.values[prime], 2 * half, k - i);
                pointwise::mul_accumulate(&mut sums, block_of(values, 2 * half, i), other);
            }
            let mut product = vec![0; 2 * half];
            pointwise::reduce(&mut product, &sums, modulus);
            table.inverse(&mut product);
            pointwise::add_assign(&mut terms[half * k..][..2 * half], &product, modulus);
        }
        terms.truncate(self.count);
        terms
    }
}

/// The values of one block.
fn block_of(values: &[u32], length: usize, block: usize) -> &[u32] {
    &values[block * length..][..length]
}

/// The largest primes for a transform whose product exceeds four times what has so many bits.
fn primes(degree: usize, bits: u32) -> Vec<u32> {
    let mut left = f64::from(bits) + 2.0;
    let mut primes = ntt_primes(PRIME_BITS, degree, bits as usize);
    let enough = primes.iter().position(|prime| {
        left -= f64::from(*prime).log2();
        left < 0.0
    });
    primes.truncate(enough.map_or(primes.len(), |last| last + 1));
    primes
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn there_are_primes_for_the_largest_modulus() {
        for (degree, bits) in [(65536, 4096 + 20), (16, 4096), (16, 516)] {
            let sum: f64 = primes(degree, bits).iter().map(|prime| f64::from(*prime).log2()).sum();
            assert!(sum > f64::from(bits) + 2.0 && sum < f64::from(bits) + 31.0, "{degree}, {bits}: {sum}");
        }
    }
}
