//! Newton's interpolation coefficients modulo n (Algorithm 2, with division in Z_n).
//!
//! For nodes 1 to N the coefficients are divided differences, R_(l+1) = Σ_(k ≤ l) d_(k+1)/k! ·
//! (−1)^(l−k)/(l−k)!. This is one convolution with a sequence that depends only on n and N.

use papir_core::{Progress, Result};
use rayon::prelude::*;

use super::convolution::Convolution;
use super::modulus::Modulus;

/// Number of factors that are multiplied together.
const LANES: usize = 64;
/// Number of integers that are converted together.
const BLOCK: usize = 1024;

/// Precomputation for polynomials through N values: 1/k! modulo n for k below N, and the
/// convolution.
pub struct Preparation<'a> {
    n: &'a Modulus,
    inverses: Vec<u64>,
    convolution: Convolution<'a>,
}

impl<'a> Preparation<'a> {
    /// Prepares for polynomials through `count` values.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for an n with a prime factor below N.
    pub fn new(n: &'a Modulus, count: usize, progress: &dyn Progress) -> Result<Self> {
        progress.stage("factorials", 1);
        let inverses = inverse_factorials(n, count)?;
        progress.advance(1);
        let convolution = Convolution::new(n, &leave(n, &inverses), progress);
        Ok(Self {
            n,
            inverses,
            convolution,
        })
    }

    /// Returns the coefficients, as elements, of the polynomial through N values: integers of
    /// `words` words each.
    pub fn coefficients(&self, values: &[u64], words: usize, progress: &dyn Progress) -> Vec<u64> {
        let limbs = self.n.limbs();
        let mut scaled = vec![0; values.len() / words * self.n.words()];

        // The lengths of words differ, but a part of each list has the same BLOCK numbers.
        let parts = values
            .par_chunks(BLOCK * words)
            .zip(self.inverses.par_chunks(BLOCK * limbs));
        let parts = parts.zip(scaled.par_chunks_mut(BLOCK * self.n.words()));

        parts.for_each(|((values, inverses), scaled)| {
            let mut elements = self.n.enter(values, words);
            self.n.wide().multiply(&mut elements, inverses);
            self.n.wide().leave(&elements, scaled);
        });

        self.convolution.with(&scaled, progress)
    }
}

fn leave(n: &Modulus, elements: &[u64]) -> Vec<u64> {
    let mut integers = vec![0; elements.len() / n.limbs() * n.words()];
    let parts = elements
        .par_chunks(BLOCK * n.limbs())
        .zip(integers.par_chunks_mut(BLOCK * n.words()));
    parts.for_each(|(elements, integers)| n.wide().leave(elements, integers));
    integers
}

/// 1/k! for k below `count`: inverts (count − 1)! and multiplies by all numbers above k.
fn inverse_factorials(n: &Modulus, count: usize) -> Result<Vec<u64>> {
    let limbs = n.limbs();
    let rows = count.div_ceil(LANES);

    // Entry k is k + 1, so that the product of entries k to count − 2 is (count − 1)!/k!. Entry k
    // is in row k mod rows and lane ⌊k/rows⌋.
    let mut integers = Vec::with_capacity(rows * LANES);
    for row in 0..rows {
        for lane in 0..LANES {
            let k = lane * rows + row;
            integers.push(if k + 1 < count { k as u64 + 1 } else { 1 });
        }
    }

    let mut products = n.enter(&integers, 1);

    let row_limbs = LANES * limbs;
    // Each row is multiplied by the one below, in all lanes at once: afterwards an entry has the
    // product from its row to the last one of its lane.
    for row in (0..rows.saturating_sub(1)).rev() {
        let (row, below) = products[row * row_limbs..][..2 * row_limbs].split_at_mut(row_limbs);
        n.wide().multiply(row, below);
    }

    // For each lane, the product of the lanes above, later times the inverse of (count − 1)!.
    let mut carries = n.wide().one().repeat(LANES);
    for lane in (0..LANES - 1).rev() {
        let next = n.product(
            &carries[(lane + 1) * limbs..][..limbs],
            &products[(lane + 1) * limbs..][..limbs],
        );
        carries[lane * limbs..][..limbs].copy_from_slice(&next);
    }

    // 1/(count − 1)! times (count − 1)!/k! is 1/k!: one inversion serves all.
    let all = n.product(&carries[..limbs], &products[..limbs]);
    n.wide().multiply_all(&mut carries, &n.inverse(&all)?);
    products
        .par_chunks_exact_mut(row_limbs)
        .for_each(|row| n.wide().multiply(row, &carries));

    let mut inverses = Vec::with_capacity(count * limbs);
    for k in 0..count {
        inverses.extend_from_slice(&products[((k % rows) * LANES + k / rows) * limbs..][..limbs]);
    }
    Ok(inverses)
}
