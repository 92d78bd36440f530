//! COLLAPSE and COLLAPSEPARTIAL on public data.
//!
//! The results are the digits of every step and the final mask.

use papir_kernels::galois;
use papir_ring::{Accumulator, Coefficients, CyclotomicRing, Poly, Ring, Values};

use super::super::lwe_masks::LweMasks;
use super::super::ring_packing::{Preprocessed, Scratch};
use super::aggregate::Aggregate;
use super::exponents::{GENERATOR, exponent_index, inverse_exponent};
use super::matrix::{self, Slot};
use crate::gadget::Gadget;
use crate::key_switch::inner_product;

/// Prepares full packs under fixed key masks (Algorithm 1).
pub(super) struct Preprocessor<'a> {
    chain: Chain<'a>,
    /// w_h.
    last: &'a [Poly<Values>],
}

impl<'a> Preprocessor<'a> {
    /// Creates a preprocessor for packs under w_g and w_h.
    pub(super) fn new(
        ring: &'a Ring,
        gadget: &'a Gadget,
        g: &'a [Poly<Values>],
        h: &'a [Poly<Values>],
    ) -> Self {
        Self {
            chain: Chain::new(ring, gadget, g, GENERATOR, ring.degree() / 2),
            last: h,
        }
    }

    /// Prepares one pack of d masks; writes its matrix to `tiles`: [`super::matrix_words`] words in
    /// the row groups of [`papir_kernels::matvec_i32`].
    ///
    /// # Panics
    /// If `tiles` has another length.
    pub(super) fn prepare(
        &self,
        lwe: LweMasks,
        tiles: &mut [i32],
        scratch: &Scratch,
    ) -> Preprocessed {
        let Chain { ring, gadget, .. } = self.chain;
        let d = ring.degree();
        let aggregate = Aggregate::new(ring, lwe);

        // The digits are needed only until the matrix is written. Then the buffer serves another
        // pack.
        let (a1, a2) = scratch.with(gadget.levels() * d * d, |digits| {
            let ends = self.collapse(&aggregate, digits);
            matrix::from_digits(d, digits, Slot::only(d), tiles);
            ends
        });

        let last = gadget.decompose_to_values(ring, &a2);
        let mut a = ring.inverse(inner_product(ring, &last, self.last));
        ring.add_assign(&mut a, &a1);
        Preprocessed { a, last }
    }

    /// Both COLLAPSEHALF, ρ = I and ρ = τ_h: returns the components that remain under s and τ_h(s).
    fn collapse(
        &self,
        aggregate: &Aggregate,
        digits: &mut [i32],
    ) -> (Poly<Coefficients>, Poly<Coefficients>) {
        let d = self.chain.ring.degree();
        // The powers of 5 are 1 modulo 4 and their negatives 3, so they take the even and the odd
        // indices.
        let mut even = Vec::with_capacity(digits.len() / d);
        let mut odd = Vec::new();
        for pair in digits.chunks_exact_mut(2 * d) {
            let (first, second) = pair.split_at_mut(d);
            even.push(first);
            odd.push(second);
        }

        rayon::join(
            || self.chain.collapse(aggregate, 1, &mut even),
            || self.chain.collapse(aggregate, 2 * d - 1, &mut odd),
        )
    }
}

/// A collapse by K_g along the exponents g^j: COLLAPSEHALF or COLLAPSEPARTIAL.
pub(super) struct Chain<'a> {
    ring: &'a Ring,
    gadget: &'a Gadget,
    /// w_g.
    masks: &'a [Poly<Values>],
    /// g and its order modulo 2d.
    generator: usize,
    order: usize,
    /// Permutation of X → X^{1/g}: one step from τ_{g^j} to τ_{g^{j−1}}.
    step_back: Vec<u32>,
}

impl<'a> Chain<'a> {
    /// Creates a chain for a generator whose order is a power of two.
    pub(super) fn new(
        ring: &'a Ring,
        gadget: &'a Gadget,
        masks: &'a [Poly<Values>],
        generator: usize,
        order: usize,
    ) -> Self {
        let step_back =
            galois::permutation(ring.degree(), inverse_exponent(generator, ring.degree()));
        Self {
            ring,
            gadget,
            masks,
            generator,
            order,
            step_back,
        }
    }

    /// Returns the component that remains under τ_rho(s), ρ = τ_rho.
    ///
    /// `digits` holds a polynomial for each level and exponent of this chain, level after level, in
    /// the order of the exponents' indices. All are written, with the digits that multiply
    /// τ_e(y_g).
    pub(super) fn collapse(
        &self,
        aggregate: &Aggregate,
        rho: usize,
        digits: &mut [&mut [i32]],
    ) -> Poly<Coefficients> {
        let ring = self.ring;
        let d = self.ring.degree();
        let inverse = inverse_exponent(self.generator, d);

        // The permutation of τ_e maps the component's preimage and the masks by values.
        let mut e = power(self.generator, self.order - 1, d) * rho % (2 * d);
        let mut image = galois::permutation(d, e);

        // No step ends at the first exponent of the chain, so its digits are zero.
        for polys in digits.chunks_exact_mut(self.order) {
            polys[exponent_index(e, d, self.order)].fill(0);
        }

        let mut carry = ring.inverse(self.component(aggregate, e, &image));
        let mut masks = permute_all(ring, self.masks, &image);
        let mut step = vec![0; self.gadget.levels() * d];
        let mut sum = Accumulator::new(ring);

        for _ in 1..self.order {
            // From τ_{g^j} to τ_{g^{j−1}}: exponent, permutation and masks go back one step
            // together.
            e = e * inverse % (2 * d);
            image = compose(ring, &image, &self.step_back);
            masks = permute_all(ring, &masks, &self.step_back);

            self.gadget.decompose(ring, &carry, &mut step);
            for (level, digit) in step.chunks_exact(d).enumerate() {
                digits[level * self.order + exponent_index(e, d, self.order)]
                    .copy_from_slice(digit);
                sum.add_product(&ring.forward(ring.from_signed(digit)), &masks[level]);
            }

            // A sum has ℓ products, far fewer than the 256 that it holds.
            let mut next = sum.reduce(ring);
            ring.add_assign(&mut next, &self.component(aggregate, e, &image));
            carry = ring.inverse(next);
        }

        carry
    }

    /// Returns τ_e(C_{1/e}), given the permutation of τ_e.
    fn component(&self, aggregate: &Aggregate, e: usize, image: &[u32]) -> Poly<Values> {
        self.ring
            .permute(&self.ring.forward(aggregate.preimage(e)), image)
    }
}

fn permute_all(ring: &Ring, polys: &[Poly<Values>], permutation: &[u32]) -> Vec<Poly<Values>> {
    polys
        .iter()
        .map(|poly| ring.permute(poly, permutation))
        .collect()
}

/// Returns the permutation that applies `first` and then `second`.
fn compose(ring: &Ring, first: &[u32], second: &[u32]) -> Vec<u32> {
    let mut both = vec![0; first.len()];
    galois::permute(ring.backend(), &mut both, first, second);
    both
}

/// Returns base^exponent modulo 2d.
fn power(base: usize, exponent: usize, degree: usize) -> usize {
    (0..exponent).fold(1, |product, _| product * base % (2 * degree))
}
