//! Homomorphic automorphisms: traces onto subrings and the expansion of coefficients into constants.
//!
//! Step j uses X → X^(d/2^j + 1), which keeps the multiples of 2^(j+1) among the exponents that are
//! multiples of 2^j and changes the sign of the others.

use papir_ring::{Poly, Ring, Values};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::rotation::rotate;
use crate::gadget::Gadget;
use crate::key_switch;
use crate::params::RlweParams;
use crate::rlwe::Rlwe;
use crate::rows::{Rows, Workspace};
use crate::secret::SecretKey;

/// The exponent of step j.
const fn exponent(degree: usize, step: usize) -> usize {
    (degree >> step) + 1
}

/// The bodies of the key of step j: from s(X^e) to s.
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
    let image = Zeroizing::new(ring.forward((*image).clone()));
    key_switch::generate(params, secret, &image, masks, gadget, rng)
}

/// The keys of all log₂ d steps.
pub struct GaloisKeys {
    steps: Vec<Rows>,
    gadget: Gadget,
}

impl GaloisKeys {
    /// Of the steps in order.
    pub fn new(steps: Vec<Rows>, gadget: Gadget) -> Self {
        Self { steps, gadget }
    }

    /// The encryption of m(X^e) for step j's exponent.
    fn automorphism(&self, ring: &Ring, rlwe: &Rlwe, step: usize, work: &mut Workspace) -> Rlwe {
        let e = exponent(ring.degree(), step);
        let mut image = Rlwe::zero(ring);
        work.multiply(ring, &self.gadget, &ring.automorphism(&rlwe.a, e), &self.steps[step], &mut image);
        ring.add_assign(&mut image.b, &ring.automorphism(&rlwe.b, e));
        image
    }

    fn workspace(&self, ring: &Ring) -> Workspace {
        Workspace::new(ring, self.gadget.levels())
    }

    /// 2^steps times the part of m in X^(2^steps), with all other coefficients zero: the trace onto a subring
    /// of d/2^steps coefficients.
    pub fn trace(&self, ring: &Ring, rlwe: &mut Rlwe, steps: usize) {
        let mut work = self.workspace(ring);
        for step in 0..steps {
            let image = self.automorphism(ring, rlwe, step, &mut work);
            rlwe.add_assign(ring, &image);
        }
    }

    /// From an encryption of Σ mᵢ·X^(i·2^steps), as [`GaloisKeys::trace`] leaves it, encryptions of the constants
    /// d/2^steps · mᵢ, i below `count` ≤ d/2^steps, a power of two (the expansion of Angel, Chen, Laine, Setty,
    /// *PIR with compressed queries*, Algorithm 3).
    pub fn expand(&self, ring: &Ring, rlwe: Rlwe, steps: usize) -> Vec<Rlwe> {
        let mut work = self.workspace(ring);
        let mut parts = vec![rlwe];
        for step in steps..ring.degree().trailing_zeros() as usize {
            // The i-th part holds exponents that are i modulo the number of parts, times 2^steps.
            let mut odd = Vec::with_capacity(parts.len());
            for part in &mut parts {
                let image = self.automorphism(ring, part, step, &mut work);
                let mut difference = part.clone();
                ring.sub_assign(&mut difference.a, &image.a);
                ring.sub_assign(&mut difference.b, &image.b);
                let mut shifted = Rlwe::zero(ring);
                rotate(ring, &difference, 2 * ring.degree() - (1 << step), &mut shifted);
                odd.push(shifted);
                part.add_assign(ring, &image);
            }
            parts.append(&mut odd);
        }
        parts
    }
}
