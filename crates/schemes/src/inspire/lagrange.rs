//! Lagrange interpolation over R_p at the points X^{sm} (Algorithm 11 with Lemmas 7 and 8; m = 1
//! there).
//!
//! The printed algorithm is Newton's: divided differences, then the products with Z − X^{sm} from
//! the last to the first. It has two slips, corrected here: the last difference starts as
//! coefficient 0 of the result, and a product maps coefficient i to coefficient i − 1 less X^{sm}
//! times coefficient i.
//!
//! Lemma 8: 1/(X^a − X^b) is X^{−b}/(X^k − 1), k = a − b > 0, and by Lemma 7 1/(X^k − 1) =
//! −1/2·Σ_{i<d/g} X^{ik}, g = gcd(k, 2d). d/g is a power of two 2^n, so the sum is Π_{i<n} (1 +
//! X^{k·2^i}): n rotations and additions. The caller multiplies each coefficient by its factors
//! −1/2.

use papir_kernels::monomial::rotate_mod;
use papir_kernels::pointwise::{Modulus, add_assign, sub_assign};

/// The points X^{sm} for s = 0, 1, …
#[derive(Debug)]
pub struct Nodes {
    /// m.
    step: usize,
    degree: usize,
    modulus: Modulus,
    scratch: Vec<u32>,
}

impl Nodes {
    /// Points X^{sm} in polynomials of `degree` residues modulo an odd number, m = `step`.
    pub fn new(step: usize, degree: usize, modulus: Modulus) -> Self {
        Self { step, degree, modulus, scratch: vec![0; degree] }
    }

    /// Maps values at the first points, polynomial by polynomial, to Newton's coefficients;
    /// coefficient l is multiplied by (−2)^l.
    ///
    /// # Panics
    /// If there are more than 2d/m values.
    pub fn divide_differences(&mut self, values: &mut [u32]) {
        let (d, count) = (self.degree, values.len() / self.degree);
        assert!(count * self.step <= 2 * d, "{count} points at steps of {}", self.step);
        for j in 1..count {
            for i in (j..count).rev() {
                let (before, from) = values.split_at_mut(i * d);
                sub_assign(&mut from[..d], &before[(i - 1) * d..], self.modulus);
                self.divide(&mut from[..d], i, i - j);
            }
        }
    }

    /// poly ← −2·poly/(X^{im} − X^{jm}), i > j (Lemma 8).
    fn divide(&mut self, poly: &mut [u32], i: usize, j: usize) {
        let order = 2 * self.degree;
        rotate_mod(&mut self.scratch, poly, (order - j * self.step) % order, self.modulus);
        poly.copy_from_slice(&self.scratch);
        let mut shift = (i - j) * self.step;
        while shift != self.degree {
            self.add_rotated(poly, shift);
            shift = 2 * shift % order;
        }
    }

    /// poly ← poly·(1 + X^shift).
    fn add_rotated(&mut self, poly: &mut [u32], shift: usize) {
        rotate_mod(&mut self.scratch, poly, shift, self.modulus);
        add_assign(poly, &self.scratch, self.modulus);
    }

    /// Maps Newton's coefficients to those of the powers of Z, in place.
    pub fn expand(&mut self, coefficients: &mut [u32]) {
        let (d, count) = (self.degree, coefficients.len() / self.degree);
        for s in (0..count.saturating_sub(1)).rev() {
            for i in s..count - 1 {
                let (low, high) = coefficients.split_at_mut((i + 1) * d);
                rotate_mod(&mut self.scratch, &high[..d], s * self.step, self.modulus);
                sub_assign(&mut low[i * d..], &self.scratch, self.modulus);
            }
        }
    }

    /// The value at X^{sm}, by Horner's rule.
    pub fn evaluate(&mut self, coefficients: &[u32], s: usize, value: &mut [u32]) {
        let mut descending = coefficients.chunks_exact(self.degree).rev();
        value.copy_from_slice(descending.next().unwrap_or_default());
        for coefficient in descending {
            rotate_mod(&mut self.scratch, value, s * self.step, self.modulus);
            value.copy_from_slice(&self.scratch);
            add_assign(value, coefficient, self.modulus);
        }
    }
}

/// Rotations that [`Nodes::divide_differences`] and [`Nodes::expand`] make of `count` polynomials.
pub(super) fn rotations(count: usize, step: usize, degree: usize) -> usize {
    let sums = |j: usize| (degree / step).ilog2().saturating_sub(j.trailing_zeros()) as usize;
    let divisions: usize = (1..count).map(|j| (count - j) * (1 + sums(j))).sum();
    divisions + count * (count - 1) / 2
}
