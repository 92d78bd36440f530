//! Scheme switching of circuit bootstrapping: RLWE to RGSW.
//!
//! RLWE encryptions of m·gⱼ become RGSW(m).

use papir_ring::wide::{Poly, Ring};
use papir_ring::{CyclotomicRing, Values};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::key_switch;
use crate::wide::{Gadget, Rlwe, RlweParams, Rows, SecretKey, Workspace};

/// Returns the bodies of RLWE′(s²).
pub fn bodies(
    params: &RlweParams,
    secret: &SecretKey,
    masks: &[Poly<Values>],
    gadget: &Gadget,
    rng: &mut dyn CryptoRng,
) -> Vec<Poly<Values>> {
    // The square tells the secret, and is erased like it.
    let square = Zeroizing::new(params.ring().mul(secret.values(), secret.values()));
    key_switch::generate(params, secret, &square, masks, gadget, rng)
}

/// RLWE′(s²), the key that multiplies encryptions by s.
pub struct SquareKey {
    rows: Rows,
    gadget: Gadget,
}

impl SquareKey {
    /// Creates a key from its rows.
    pub fn new(rows: Rows, gadget: Gadget) -> Self {
        Self { rows, gadget }
    }

    /// RLWE(m) → RLWE(s·m). With m = a·s + b, the product s·m = s·b + s²·a; (b, 0) encrypts the
    /// first term.
    fn times_secret(&self, ring: &Ring, rlwe: &Rlwe, work: &mut Workspace) -> Rlwe {
        let mut product = Rlwe::zero(ring);
        work.multiply(ring, &self.gadget, &rlwe.a, &self.rows, &mut product);
        ring.add_assign(&mut product.a, &rlwe.b);
        product
    }

    /// Returns RGSW(m) from RLWE(m·gⱼ), j = 0 … ℓ − 1.
    pub fn rgsw(&self, ring: &Ring, levels: Vec<Rlwe>) -> Rows {
        let mut work = Workspace::new(ring, self.gadget.levels());
        let keyed: Vec<Rlwe> = levels
            .iter()
            .map(|level| self.times_secret(ring, level, &mut work))
            .collect();
        // The keyed rows come first: an external product multiplies them by the mask's digits.
        Rows::of(ring, keyed.into_iter().chain(levels).collect())
    }
}
