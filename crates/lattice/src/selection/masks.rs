//! Masks H = D·A of selected columns, in packing form.
//!
//! H appears in InsPIRe's Algorithm 9, line 7, and Algorithm 5, lines 7 and 10; packing needs ãₖ of
//! TRANSFORM for every row. The masks of LWE encryptions come d at a time from ring elements aᵢ, so
//! row k of H is the coefficient vector of Σᵢ Dₖ,ᵢ(X)·aᵢ(X⁻¹), where Dₖ,ᵢ holds the row's words in
//! block i. TRANSFORM reflects it: ãₖ = n⁻¹·Σᵢ Dₖ,ᵢ(X⁻¹)·aᵢ(X). This takes one forward transform
//! for each row and block, and one inverse transform for each row.

use std::ops::Range;

use papir_kernels::pointwise::{self, Modulus};
use papir_kernels::{gadget, matvec_i16};
use papir_ring::prg::Seed;
use papir_ring::prime::inverse_mod;
use papir_ring::{Coefficients, CyclotomicRing, Poly, Ring, Values};
use rayon::prelude::*;

use super::stacked::StackedMatrix;
use crate::lwe::block_mask;
use crate::packing::LweMasks;
use crate::params::RlweParams;

/// Products of residues below 2²⁸ that a 64-bit sum holds on top of a reduced residue.
const MAX_PRODUCTS: usize = 255;

/// n⁻¹·aᵢ for all blocks of d columns, where n is the number of rows in a pack.
#[derive(Clone, Debug)]
pub struct SelectorMasks {
    blocks: Vec<Poly<Values>>,
}

impl SelectorMasks {
    /// Expands the masks of a selector of `columns` entries from a public seed, for packs of n =
    /// `capacity` rows; `capacity` is 1 for rows that are not packed.
    pub fn new(
        params: &RlweParams,
        seed: &Seed,
        label: &str,
        columns: usize,
        capacity: usize,
    ) -> Self {
        let ring = params.ring();
        let blocks = (0..columns.div_ceil(ring.degree())).into_par_iter();
        let divided = blocks.map(|i| divide(ring, &block_mask(params, seed, label, i), capacity));
        Self {
            blocks: divided.collect(),
        }
    }

    /// Returns the masks of one pack: ãₖ for the given rows of a matrix with the selector's
    /// columns.
    ///
    /// # Panics
    /// If [`LweMasks`] does not support the number of rows.
    pub fn of_rows<'a>(
        &self,
        ring: &Ring,
        matrix: impl Into<StackedMatrix<'a>>,
        rows: Range<usize>,
    ) -> LweMasks {
        let matrix = matrix.into();
        let d = ring.degree();
        let mut residues = [vec![0; rows.len() * d], vec![0; rows.len() * d]];
        let [first, second] = &mut residues;

        // The rows of a pack are whole row groups, or a part of one.
        let group = rows.len().min(matvec_i16::ROWS);
        let parts = first
            .par_chunks_exact_mut(group * d)
            .zip(second.par_chunks_exact_mut(group * d));
        parts.enumerate().for_each(|(g, (first, second))| {
            let start = rows.start + g * group;
            let part = RowGroup::new(ring, &matrix, start..start + group);
            part.masks(&self.blocks, [first, second]);
        });

        LweMasks::new(ring, residues)
    }

    /// [`SelectorMasks::of_rows`] for rows of signed words computed online.
    ///
    /// # Panics
    /// In the cases of [`SelectorMasks::of_rows`], if the words are not whole rows of `columns`, or
    /// if the selector has other columns.
    pub fn of_words(&self, ring: &Ring, words: &[i16], columns: usize) -> LweMasks {
        LweMasks::new(ring, self.sums_of_words(ring, words, columns))
    }

    /// [`SelectorMasks::of_words`] for rows that are not packed, with a capacity of 1.
    ///
    /// Row k is the mask Σᵢ Dₖ,ᵢ(X⁻¹)·aᵢ(X) of an RLWE encryption whose coefficient 0 is the
    /// selected word.
    ///
    /// # Panics
    /// If the words are not whole rows of `columns`, or the selector has other columns.
    pub fn of_single_words(
        &self,
        ring: &Ring,
        words: &[i16],
        columns: usize,
    ) -> Vec<Poly<Coefficients>> {
        let d = ring.degree();
        let [first, second] = self.sums_of_words(ring, words, columns);
        let rows = first.chunks_exact(d).zip(second.chunks_exact(d));
        rows.map(|(first, second)| Poly::from_residues(&[first, second].concat()))
            .collect()
    }

    /// Returns Σᵢ Dₖ,ᵢ(X⁻¹)·maskᵢ for rows of words, in coefficients, modulo both primes.
    fn sums_of_words(&self, ring: &Ring, words: &[i16], columns: usize) -> [Vec<u32>; 2] {
        let d = ring.degree();
        // Words and masks that have no partner would be left out of the sums.
        assert!(
            columns > 0 && words.len().is_multiple_of(columns),
            "{} words: expected whole rows of {columns}",
            words.len()
        );
        assert_eq!(
            columns.div_ceil(d),
            self.blocks.len(),
            "blocks of the columns, and of the selector"
        );

        let rows = words.len() / columns;
        let mut residues = [vec![0; rows * d], vec![0; rows * d]];
        let [first, second] = &mut residues;

        let out = first
            .par_chunks_exact_mut(d)
            .zip(second.par_chunks_exact_mut(d));
        out.zip(words.par_chunks_exact(columns))
            .for_each(|((first, second), row)| {
                let mut sums = Sums::new(ring, 1);
                for (words, mask) in row.chunks(d).zip(&self.blocks) {
                    let mut reflected = vec![0; d];
                    reflect(words, &mut reflected);
                    sums.add(0, &reflected, mask);
                    sums.end_of_block();
                }

                sums.finish([first, second]);
            });

        residues
    }
}

/// Returns a/n.
fn divide(ring: &Ring, a: &Poly<Values>, n: usize) -> Poly<Values> {
    let mut quotient = ring.zero();
    for ((out, part), prime) in quotient
        .parts_mut()
        .into_iter()
        .zip(a.parts())
        .zip(ring.primes())
    {
        // Divided here, once for a selector, instead of in every pack.
        let inverse = inverse_mod(n as u64, prime.value().into()) as u32;
        pointwise::scale(ring.backend(), out, part, inverse, prime);
    }
    quotient
}

/// Some rows of 64 that begin at a multiple of 64.
struct RowGroup<'a> {
    ring: &'a Ring,
    matrix: &'a StackedMatrix<'a>,
    exceptions: &'a [[u32; 2]],
    rows: Range<usize>,
}

impl<'a> RowGroup<'a> {
    fn new(ring: &'a Ring, matrix: &'a StackedMatrix<'a>, rows: Range<usize>) -> Self {
        Self {
            ring,
            matrix,
            // Only words of 16 bits have exceptions, and they are alone in their entries.
            exceptions: matrix.levels().0.exceptions_in(&rows),
            rows,
        }
    }

    /// Writes Σᵢ Dₖ,ᵢ(X⁻¹)·maskᵢ for all rows, in coefficients, modulo both primes.
    fn masks(&self, masks: &[Poly<Values>], out: [&mut [u32]; 2]) {
        let d = self.ring.degree();
        let mut sums = Sums::new(self.ring, self.rows.len());
        let (first, others) = self.matrix.levels();
        let mut words = vec![0; matvec_i16::ROWS * d];
        let mut others: Vec<_> = others
            .map(|(level, shift)| (level, shift, words.clone()))
            .collect();
        let mut reflected = vec![0; d];
        let group = self.rows.start / matvec_i16::ROWS;
        let lane = self.rows.start % matvec_i16::ROWS;

        for (block, mask) in masks.iter().enumerate() {
            // A tile interleaves 64 rows, so all of them are read even for a part of a group.
            first.read_rows(group, block * d, &mut words);
            for (level, _, words) in &mut others {
                level.read_rows(group, block * d, words);
            }

            for l in 0..self.rows.len() {
                let row = (lane + l) * d..(lane + l + 1) * d;
                reflect(&words[row.clone()], &mut reflected);
                for (_, shift, words) in &others {
                    add_reflected(&words[row.clone()], *shift, &mut reflected);
                }
                self.restore_exceptions(l, block, &mut reflected);
                sums.add(l, &reflected, mask);
            }
            sums.end_of_block();
        }

        sums.finish(out);
    }

    /// Restores +32768 where the matrix stores −32768 for it: in the reflected row, a coefficient
    /// at c > 0 has its sign changed.
    fn restore_exceptions(&self, l: usize, block: usize, row: &mut [i32]) {
        let d = self.ring.degree();
        for &[at, column] in self.exceptions {
            let column = column as usize;
            if at as usize == self.rows.start + l && column / d == block {
                let c = column % d;
                row[(d - c) % d] = if c == 0 { 1 << 15 } else { -(1 << 15) };
            }
        }
    }
}

/// Sums of products with masks for several rows, modulo both primes.
struct Sums<'a> {
    ring: &'a Ring,
    sums: [Vec<u64>; 2],
    values: Vec<u32>,
    blocks: usize,
}

impl<'a> Sums<'a> {
    fn new(ring: &'a Ring, rows: usize) -> Self {
        let d = ring.degree();
        Self {
            ring,
            sums: [vec![0; rows * d], vec![0; rows * d]],
            values: vec![0; d],
            blocks: 0,
        }
    }

    /// Adds a row's words times the mask of their block; called once for each row and block.
    fn add(&mut self, row: usize, words: &[i32], mask: &Poly<Values>) {
        let backend = self.ring.backend();
        let d = self.ring.degree();
        for (i, sums) in self.sums.iter_mut().enumerate() {
            // The transform takes words below 4q, which negative ones are not.
            gadget::to_residues(backend, &mut self.values, words, self.ring.primes()[i]);
            self.ring.table(i).forward(backend, &mut self.values);
            pointwise::mul_accumulate(
                backend,
                &mut sums[row * d..][..d],
                &self.values,
                mask.parts()[i],
            );
        }
    }

    /// Reduces the sums before they could overflow.
    fn end_of_block(&mut self) {
        self.blocks += 1;
        if self.blocks.is_multiple_of(MAX_PRODUCTS) {
            for (sums, prime) in self.sums.iter_mut().zip(self.ring.primes()) {
                sums.iter_mut()
                    .for_each(|sum| *sum = u64::from(Modulus::reduce(prime, *sum)));
            }
        }
    }

    /// Writes the coefficients of all rows.
    fn finish(self, out: [&mut [u32]; 2]) {
        let backend = self.ring.backend();
        for (i, (out, sums)) in out.into_iter().zip(&self.sums).enumerate() {
            pointwise::reduce(backend, out, sums, self.ring.primes()[i]);
            // Sums of all blocks share the one inverse transform of a row.
            out.chunks_exact_mut(self.ring.degree())
                .for_each(|poly| self.ring.table(i).inverse(backend, poly));
        }
    }
}

/// Writes the coefficients of D(X⁻¹): X^{−c} = −X^{d−c} for c > 0; words beyond the last are zero.
fn reflect(words: &[i16], row: &mut [i32]) {
    let d = row.len();
    row[0] = i32::from(words[0]);
    row[1..=d - words.len()].fill(0);
    let last = row[d + 1 - words.len()..].iter_mut();
    for (out, &word) in last.zip(words[1..].iter().rev()) {
        *out = -i32::from(word);
    }
}

/// Adds the coefficients of D(X⁻¹)·2^shift, for words of all coefficients.
fn add_reflected(words: &[i16], shift: u32, row: &mut [i32]) {
    row[0] += i32::from(words[0]) << shift;
    for (out, &word) in row[1..].iter_mut().zip(words[1..].iter().rev()) {
        *out -= i32::from(word) << shift;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::params::{DEFAULT_PRIMES, Literal};

    const D: usize = 64;

    /// Returns the masks of rows of the given number of words for a selector of 100 columns.
    fn single_words(words: usize, columns: usize) -> Vec<Poly<Coefficients>> {
        let params = RlweParams::insecure(Literal {
            degree: D,
            primes: DEFAULT_PRIMES,
            sigma: 6.4,
        });
        let params = params.unwrap();
        let masks = SelectorMasks::new(&params, &Seed([1; 32]), "test", 100, 1);
        masks.of_single_words(params.ring(), &vec![1; words], columns)
    }

    #[test]
    fn whole_rows_have_a_mask_each() {
        assert_eq!(single_words(300, 100).len(), 3);
    }

    #[test]
    #[should_panic(expected = "250 words: expected whole rows of 100")]
    fn a_partial_row_panics() {
        single_words(250, 100);
    }

    #[test]
    #[should_panic(expected = "0 words: expected whole rows of 0")]
    fn rows_without_columns_panic() {
        single_words(0, 0);
    }

    #[test]
    #[should_panic(expected = "blocks of the columns, and of the selector")]
    fn more_columns_than_the_selector_panic() {
        single_words(200, 200);
    }
}
