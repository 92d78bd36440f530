//! RGSW encryption (InsPIRe, section 2).
//!
//! The rows of the printed matrix [a, −s·a + e] + m·G are RLWE encryptions of s·m·g, which multiply
//! the digits of a ciphertext's mask, and of m·g, which multiply the digits of its body. In this
//! form every mask remains the public one. The external product is in [`crate::rows`].

use papir_ring::prg::Seed;
use papir_ring::{CyclotomicRing, Poly, Values};
use rand_core::CryptoRng;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::gadget::Gadget;
use crate::key_switch;
use crate::params::RlweParams;
use crate::secret::SecretKey;

/// Expands 2ℓ masks from the public seed, each from its own stream.
pub fn masks<R: CyclotomicRing>(
    ring: &R,
    seed: &Seed,
    label: &str,
    gadget: &Gadget<R>,
) -> Vec<Poly<Values, R::Word>> {
    key_switch::masks(ring, seed, label, 2 * gadget.levels())
}

/// Returns X^exponent for a secret exponent in [0, 2d), in constant time; exponents from d on give
/// −X^(exponent − d).
fn monomial(degree: usize, exponent: u32) -> Zeroizing<Vec<i32>> {
    let d = degree as u32;
    let low = exponent & (d - 1);
    // Bit log₂ d of the exponent is the sign, since X^d is −1.
    let sign = 1 - 2 * (exponent >> d.trailing_zeros() & 1) as i32;
    let coefficients = (0..d).map(|c| i32::conditional_select(&0, &sign, c.ct_eq(&low)));
    Zeroizing::new(coefficients.collect())
}

/// Returns the bodies of an RGSW encryption of X^exponent: ℓ of s·m·g, then ℓ of m·g.
pub fn encrypt_monomial<R: CyclotomicRing>(
    params: &RlweParams<R>,
    secret: &SecretKey<R::Word>,
    masks: &[Poly<Values, R::Word>],
    exponent: u32,
    gadget: &Gadget<R>,
    rng: &mut dyn CryptoRng,
) -> Vec<Poly<Values, R::Word>> {
    let ring = params.ring();
    let message =
        Zeroizing::new(ring.forward(ring.from_signed(&monomial(ring.degree(), exponent))));
    encrypt(params, secret, masks, &message, gadget, rng)
}

/// Returns the bodies of an RGSW encryption of a small message: ℓ of s·m·g, then ℓ of m·g.
pub fn encrypt<R: CyclotomicRing>(
    params: &RlweParams<R>,
    secret: &SecretKey<R::Word>,
    masks: &[Poly<Values, R::Word>],
    message: &Poly<Values, R::Word>,
    gadget: &Gadget<R>,
    rng: &mut dyn CryptoRng,
) -> Vec<Poly<Values, R::Word>> {
    // Erased even where m is public: then s·m tells the secret.
    let keyed = Zeroizing::new(params.ring().mul(message, secret.values()));
    let (upper, lower) = masks.split_at(gadget.levels());
    let mut bodies = key_switch::generate(params, secret, &keyed, upper, gadget, rng);
    bodies.append(&mut key_switch::generate(
        params, secret, message, lower, gadget, rng,
    ));
    bodies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monomials_are_negacyclic() {
        for exponent in 0..32 {
            let expected: Vec<i32> = (0..16)
                .map(|c| {
                    if c != exponent % 16 {
                        0
                    } else if exponent < 16 {
                        1
                    } else {
                        -1
                    }
                })
                .collect();
            assert_eq!(*monomial(16, exponent as u32), expected);
        }
    }
}
