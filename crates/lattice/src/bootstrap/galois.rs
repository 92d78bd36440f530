//! Homomorphic automorphisms, traces and coefficient expansion.
//!
//! Step j applies X → X^(d/2^j + 1). Among exponents that are multiples of 2^j, it fixes the
//! multiples of 2^(j+1) and changes the sign of the others.

use papir_ring::wide::{Poly, Ring};
use papir_ring::{CyclotomicRing, Values};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::rotation::rotate;
use crate::key_switch;
use crate::wide::{Gadget, Rlwe, RlweParams, Rows, SecretKey, Workspace};

/// Returns the exponent of step j.
const fn exponent(degree: usize, step: usize) -> usize {
    (degree >> step) + 1
}

/// Returns the bodies of the key of step j, from s(X^e) to s.
pub fn bodies(
    params: &RlweParams,
    secret: &SecretKey,
    step: usize,
    masks: &[Poly<Values>],
    gadget: &Gadget,
    rng: &mut dyn CryptoRng,
) -> Vec<Poly<Values>> {
    let ring = params.ring();
    let coefficients = Zeroizing::new(ring.from_signed(secret.coefficients()));
    let image = Zeroizing::new(ring.automorphism(&coefficients, exponent(ring.degree(), step)));
    // `forward` transforms the copy in place, so both polynomials are erased on drop.
    let image = Zeroizing::new(ring.forward((*image).clone()));
    key_switch::generate(params, secret, &image, masks, gadget, rng)
}

/// Keys of all log₂ d steps.
pub struct GaloisKeys {
    steps: Vec<Rows>,
    gadget: Gadget,
}

impl GaloisKeys {
    /// Creates keys from the rows of each step, in order.
    pub fn new(steps: Vec<Rows>, gadget: Gadget) -> Self {
        Self { steps, gadget }
    }

    /// Returns the encryption of m(X^e) for the exponent e of a step.
    fn automorphism(&self, ring: &Ring, rlwe: &Rlwe, step: usize, work: &mut Workspace) -> Rlwe {
        let e = exponent(ring.degree(), step);
        let mut image = Rlwe::zero(ring);
        work.multiply(
            ring,
            &self.gadget,
            &ring.automorphism(&rlwe.a, e),
            &self.steps[step],
            &mut image,
        );
        ring.add_assign(&mut image.b, &ring.automorphism(&rlwe.b, e));
        image
    }

    fn workspace(&self, ring: &Ring) -> Workspace {
        Workspace::new(ring, self.gadget.levels())
    }

    /// Trace onto a subring of d/2^steps coefficients: multiplies the part of m in X^(2^steps) by
    /// 2^steps and clears all other coefficients.
    pub fn trace(&self, ring: &Ring, rlwe: &mut Rlwe, steps: usize) {
        let mut work = self.workspace(ring);
        for step in 0..steps {
            let image = self.automorphism(ring, rlwe, step, &mut work);
            rlwe.add_assign(ring, &image);
        }
    }

    /// Expands coefficients into constants.
    ///
    /// From an encryption of Σ mᵢ·X^(i·2^steps), the output of [`GaloisKeys::trace`], returns
    /// encryptions of the constants d/2^steps · mᵢ for all i below d/2^steps (expansion of Angel,
    /// Chen, Laine, Setty, *PIR with compressed queries*, Algorithm 3).
    pub fn expand(&self, ring: &Ring, rlwe: Rlwe, steps: usize) -> Vec<Rlwe> {
        let mut work = self.workspace(ring);
        let mut parts = vec![rlwe];

        for step in steps..ring.degree().trailing_zeros() as usize {
            // Part i holds the exponents congruent to i modulo the number of parts, times 2^steps.
            let mut odd = Vec::with_capacity(parts.len());
            for part in &mut parts {
                let image = self.automorphism(ring, part, step, &mut work);
                let mut difference = part.clone();
                difference.sub_assign(ring, &image);

                // X^(2d) is 1, so the shift divides by X^(2^step): odd multiples of 2^step become
                // multiples of 2^(step + 1).
                let mut shifted = Rlwe::zero(ring);
                rotate(
                    ring,
                    &difference,
                    2 * ring.degree() - (1 << step),
                    &mut shifted,
                );

                odd.push(shifted);
                part.add_assign(ring, &image);
            }

            parts.append(&mut odd);
        }

        parts
    }
}
