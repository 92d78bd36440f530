//! Convolutions of sequences modulo n.
//!
//! A convolution is computed exactly over the integers, by number-theoretic transforms modulo many
//! primes below 2²⁸, and then reduced modulo n. Sequences are cut into blocks of half a transform's
//! length. Products of blocks are summed in the transformed domain, so that each block of each
//! sequence is transformed only once.

use papir_core::Progress;
use papir_kernels::Backend;
use papir_kernels::mat32::ROWS;
use papir_kernels::ntt::NttTable;
use papir_kernels::pointwise;
use papir_ring::prime::{ntt_primes, primitive_root};
use rayon::prelude::*;

use super::lifting::{DIGIT_BITS, Lifting, digit_count, digits};
use super::modulus::Modulus;
use papir_schemes::shared::residues::System;

/// Possible degrees of transforms.
const DEGREES: std::ops::RangeInclusive<usize> = 16..=65536;
/// Bits of a prime. Sums of 256 products fit into 64 bits, and there are fewer than 256 blocks.
const PRIME_BITS: u32 = 28;
/// Number of integers whose residues are computed together.
const RUN: usize = 16;
/// Number of integers whose residues stay in the cache for all primes: 512 KiB.
const BLOCK: usize = 2048;
/// Number of sums that are lifted together.
const LIFTED: usize = 128;

/// A transformed sequence with alternating signs, with which other sequences are convolved.
pub(super) struct Convolution<'a> {
    backend: Backend,
    n: &'a Modulus,
    count: usize,
    system: System,
    lifting: Lifting,
    tables: Vec<NttTable>,
    /// Values of each block modulo each prime, times the factors of [`Lifting`].
    values: Vec<Vec<u32>>,
}

impl<'a> Convolution<'a> {
    /// Transforms a sequence of integers that have as many words as n. Every second one is negated.
    pub(super) fn new(n: &'a Modulus, sequence: &[u64], progress: &dyn Progress) -> Self {
        let words = n.words();
        let count = sequence.len() / n.words();

        // A block fills half of a transform, so that the product of two blocks does not wrap.
        let degree = (2 * count)
            .next_power_of_two()
            .clamp(*DEGREES.start(), *DEGREES.end());
        // A term is a sum of at most `count` products of two numbers of as many words.
        let bits = 128 * words as u32 + count.next_power_of_two().ilog2();

        let primes = primes(degree, bits);

        // Every prime is 1 modulo 2·degree.
        let tables = primes
            .par_iter()
            .filter_map(|prime| {
                let root = primitive_root(*prime, 2 * degree)?;
                NttTable::new(*prime, root, degree).ok()
            })
            .collect();
        let system = System::new(primes, digit_count(words), DIGIT_BITS);
        let lifting = Lifting::new(n, &system);

        let mut convolution = Self {
            backend: Backend::current(),
            n,
            count,
            system,
            lifting,
            tables,
            values: Vec::new(),
        };
        convolution.values = convolution.inverted(sequence, progress);
        convolution
    }

    /// Transforms a sequence's blocks, with alternating signs, modulo each prime p and times
    /// (P/p)⁻¹.
    fn inverted(&self, sequence: &[u64], progress: &dyn Progress) -> Vec<Vec<u32>> {
        progress.stage("transform", self.system.parts() as u64);

        let powers = self.system.inverted_powers(DIGIT_BITS);
        let mut values: Vec<Vec<u32>> = self.tables.iter().map(|_| self.room()).collect();
        let mut residues = vec![[0; ROWS]; self.count];

        for (part, values) in values.chunks_mut(ROWS).enumerate() {
            let primes = self.system.primes_of(part);
            self.take_residues(
                |numbers| {
                    // Numbers come in pairs that start at an even place, so the second one is
                    // always negated.
                    let [first, mut second] = self.system.residues_by(&powers, part, numbers);
                    for (residue, prime) in second.iter_mut().zip(primes) {
                        *residue = if *residue == 0 { 0 } else { prime - *residue };
                    }
                    [first, second]
                },
                sequence,
                &mut residues,
            );
            self.transform(part, &residues, values);
            progress.advance(1);
        }
        values
    }

    /// Zeros for the values of all blocks modulo one prime.
    fn room(&self) -> Vec<u32> {
        vec![0; 2 * self.half() * self.blocks()]
    }

    fn half(&self) -> usize {
        self.tables.first().map_or(1, NttTable::degree) / 2
    }

    fn blocks(&self) -> usize {
        self.count.div_ceil(self.half())
    }

    /// Returns the first terms of the convolution, as many as the sequence has, as elements.
    pub(super) fn with(&self, sequence: &[u64], progress: &dyn Progress) -> Vec<u64> {
        progress.stage("convolve", self.system.parts() as u64);
        let mut terms: Vec<Vec<u32>> = Vec::with_capacity(self.tables.len());
        let mut values = vec![self.room(); self.tables.len().min(ROWS)];
        let mut residues = vec![[0; ROWS]; self.count];

        for part in 0..self.system.parts() {
            self.take_residues(
                |numbers| self.system.residues(part, numbers),
                sequence,
                &mut residues,
            );

            let values = &mut values[..self.system.primes_of(part).len()];
            self.transform(part, &residues, values);
            let primes = values.par_iter().enumerate();
            terms.par_extend(
                primes.map(|(lane, values)| self.multiplied(part * ROWS + lane, values)),
            );
            progress.advance(1);
        }

        // Lifting needs neither: freed first, as each holds residues modulo 64 primes.
        drop((values, residues));
        progress.stage("lift", self.count.div_ceil(LIFTED) as u64);

        let mut elements = self.n.zeros(self.count);
        let parts = elements.par_chunks_mut(LIFTED * self.n.limbs()).enumerate();
        parts.for_each(|(part, elements)| {
            let start = part * LIFTED;
            let count = elements.len() / self.n.limbs();
            let sums = self
                .lifting
                .lift(count, |prime| &terms[prime][start..start + count]);
            self.n.wide().enter(&sums, self.lifting.words(), elements);
            progress.advance(1);
        });
        elements
    }

    /// Computes residues of integers modulo the primes of one part, two integers at a time.
    fn take_residues(
        &self,
        residues_of: impl Fn([&[i32]; 2]) -> [[u32; ROWS]; 2] + Sync,
        integers: &[u64],
        residues: &mut [[u32; ROWS]],
    ) {
        let words = self.n.words();
        let each = digit_count(self.n.words());

        let runs = integers
            .par_chunks(RUN * words)
            .zip(residues.par_chunks_mut(RUN));
        runs.for_each(|(integers, residues)| {
            let digits = digits(integers, words);
            for (two, residues) in digits.chunks(2 * each).zip(residues.chunks_mut(2)) {
                let (first, second) = two.split_at(each);
                // An odd number at the end is paired with itself, and only its first half is kept.
                let both = residues_of([first, if second.is_empty() { first } else { second }]);
                residues.copy_from_slice(&both[..residues.len()]);
            }
        });
    }

    /// Transforms blocks of residues modulo the primes of one part.
    fn transform(&self, part: usize, residues: &[[u32; ROWS]], values: &mut [Vec<u32>]) {
        let half = self.half();
        values.par_iter_mut().for_each(|values| values.fill(0));
        // A block of residues stays in the cache while all primes use it.
        for (block, residues) in residues.chunks(BLOCK).enumerate() {
            values
                .par_iter_mut()
                .enumerate()
                .for_each(|(lane, values)| {
                    for (k, residues) in (block * BLOCK..).zip(residues) {
                        // `half` is a power of two: the mask moves each block to a place of twice
                        // its length.
                        values[k + (k & !(half - 1))] = residues[lane];
                    }
                });
        }

        values
            .par_iter_mut()
            .enumerate()
            .for_each(|(lane, values)| {
                let table = &self.tables[part * ROWS + lane];
                values
                    .chunks_exact_mut(2 * half)
                    .for_each(|block| table.forward(self.backend, block));
            });
    }

    /// Returns the convolution's terms modulo one prime, from a sequence's transformed blocks.
    fn multiplied(&self, prime: usize, values: &[u32]) -> Vec<u32> {
        let table = &self.tables[prime];
        let half = self.half();

        let modulus = pointwise::Modulus::new(table.modulus());
        let mut terms = vec![0; half * (self.blocks() + 1)];
        let mut sums = vec![0; 2 * half];
        let mut product = vec![0; 2 * half];

        for k in 0..self.blocks() {
            sums.fill(0);
            // Block k of the result has the products of blocks i and k − i. The upper halves
            // overlap the next block, so they are added there.
            for i in 0..=k {
                let other = block_of(&self.values[prime], 2 * half, k - i);
                pointwise::mul_accumulate(
                    self.backend,
                    &mut sums,
                    block_of(values, 2 * half, i),
                    other,
                );
            }

            pointwise::reduce(self.backend, &mut product, &sums, modulus);
            table.inverse(self.backend, &mut product);
            pointwise::add_assign(
                self.backend,
                &mut terms[half * k..][..2 * half],
                &product,
                modulus,
            );
        }

        terms.truncate(self.count);
        terms
    }
}

/// One transformed block.
fn block_of(values: &[u32], length: usize, block: usize) -> &[u32] {
    &values[block * length..][..length]
}

/// Returns the largest primes for transforms of this degree, just enough for a product above
/// 4·2^bits.
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
            let sum: f64 = primes(degree, bits)
                .iter()
                .map(|prime| f64::from(*prime).log2())
                .sum();
            assert!(
                sum > f64::from(bits) + 2.0 && sum < f64::from(bits) + 31.0,
                "{degree}, {bits}: {sum}"
            );
        }
    }
}
