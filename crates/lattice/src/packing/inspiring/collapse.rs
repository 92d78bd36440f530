//! COLLAPSE of Algorithm 1 on everything that is public: the digits of every step and the final mask.

use papir_kernels::galois;
use papir_ring::{Coefficients, Poly, Ring, Values};

use super::aggregate::{Aggregate, LweMasks};
use super::keys::PackingMasks;
use super::matrix::{self, MatrixError};
use super::{GENERATOR, inverse_exponent};
use crate::gadget::Gadget;
use crate::key_switch::inner_product;

/// What one pack keeps beside its matrix.
#[derive(Clone, Debug)]
pub struct Preprocessed {
    /// The mask a_fin of the packed encryption.
    pub a: Poly<Coefficients>,
    /// The digits of the last step, which meet y_h; ℓ ring elements.
    pub last: Vec<Poly<Values>>,
}

/// Prepares packs under fixed key masks.
pub struct Preprocessor<'a> {
    ring: &'a Ring,
    gadget: &'a Gadget,
    masks: &'a PackingMasks,
    /// The permutation of X → X^{1/5}: steps from τ_{5^j} to τ_{5^{j−1}}.
    step_back: Vec<u32>,
}

impl<'a> Preprocessor<'a> {
    /// A preprocessor for packs under these masks.
    pub fn new(ring: &'a Ring, gadget: &'a Gadget, masks: &'a PackingMasks) -> Self {
        let step = inverse_exponent(GENERATOR, ring.degree());
        Self { ring, gadget, masks, step_back: galois::permutation(ring.degree(), step) }
    }

    /// Prepares one pack; writes its matrix to `tiles` ([`super::matrix_words`] words, in the row
    /// groups of [`papir_kernels::mat32`]).
    ///
    /// # Errors
    /// [`MatrixError`] when a row could overflow online, which random masks do not cause.
    pub fn run(&self, lwe: LweMasks, tiles: &mut [i32]) -> Result<Preprocessed, MatrixError> {
        let d = self.ring.degree();
        let aggregate = lwe.aggregate(self.ring);
        let mut digits = vec![0; self.gadget.levels() * d * d];
        let a1 = self.collapse_half(&aggregate, 1, &mut digits);
        let a2 = self.collapse_half(&aggregate, 2 * d - 1, &mut digits);
        matrix::from_digits(d, digits, tiles)?;
        let last = self.gadget.decompose_to_values(self.ring, &a2);
        let mut a = self.ring.inverse(inner_product(self.ring, &last, &self.masks.h));
        self.ring.add_assign(&mut a, &a1);
        Ok(Preprocessed { a, last })
    }

    /// COLLAPSEHALF with ρ = τ_rho: the component that remains under ρ(s). The digits that meet
    /// τ_e(y_g) go to the d words at ((level·d) + e/2)·d.
    fn collapse_half(&self, aggregate: &Aggregate, rho: usize, digits: &mut [i32]) -> Poly<Coefficients> {
        let d = self.ring.degree();
        let mut e = power(GENERATOR, d / 2 - 1, d) * rho % (2 * d);
        let mut carry = aggregate.component(self.ring, e);
        let inverse = inverse_exponent(GENERATOR, d);
        let mut masks = self.images(e * inverse % (2 * d));
        let mut step = vec![0; self.gadget.levels() * d];
        for _ in 1..d / 2 {
            e = e * inverse % (2 * d);
            self.gadget.decompose(&carry, &mut step);
            for (level, digit) in step.chunks_exact(d).enumerate() {
                digits[(level * d + e / 2) * d..][..d].copy_from_slice(digit);
            }
            carry = self.ring.inverse(self.recombine(&step, &masks));
            self.ring.add_assign(&mut carry, &aggregate.component(self.ring, e));
            masks = masks.iter().map(|mask| self.ring.permute(mask, &self.step_back)).collect();
        }
        carry
    }

    /// τ_e(w_g).
    fn images(&self, e: usize) -> Vec<Poly<Values>> {
        let permutation = galois::permutation(self.ring.degree(), e);
        self.masks.g.iter().map(|mask| self.ring.permute(mask, &permutation)).collect()
    }

    /// Σᵢ digitᵢ·maskᵢ.
    fn recombine(&self, digits: &[i32], masks: &[Poly<Values>]) -> Poly<Values> {
        let ring = self.ring;
        let values: Vec<_> =
            digits.chunks_exact(ring.degree()).map(|digit| ring.forward(ring.from_signed(digit))).collect();
        inner_product(ring, &values, masks)
    }
}

/// base^exponent modulo 2d.
fn power(base: usize, exponent: usize, degree: usize) -> usize {
    (0..exponent).fold(1, |product, _| product * base % (2 * degree))
}
