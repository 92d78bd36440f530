//! Blind rotation with binary keys.
//!
//! RLWE(T) becomes RLWE(T·X^phase) by one CMUX gate for each bit of the key (Chillotti, Gama,
//! Georgieva, Izabachène, *TFHE*, Algorithm 3).

use papir_ring::wide::{Poly, Ring};
use papir_ring::{CyclotomicRing, Values};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::lwe::BinaryKey;
use crate::rgsw;
use crate::wide::{Gadget, Rlwe, RlweParams, Rows, SecretKey, Workspace};

/// Returns the bodies of RGSW(bit) for bit `index` of the key.
pub fn bodies(
    params: &RlweParams,
    secret: &SecretKey,
    key: &BinaryKey,
    index: usize,
    masks: &[Poly<Values>],
    gadget: &Gadget,
    rng: &mut dyn CryptoRng,
) -> Vec<Poly<Values>> {
    let ring = params.ring();
    let mut constant = Zeroizing::new(vec![0; ring.degree()]);
    constant[0] = key.bits()[index];
    let message = Zeroizing::new(ring.forward(ring.from_signed(&constant)));
    rgsw::encrypt(params, secret, masks, &message, gadget, rng)
}

/// RGSW encryptions of the bits of a short key.
pub struct RotationKey {
    bits: Vec<Rows>,
    gadget: Gadget,
}

impl RotationKey {
    /// Creates a key from one RGSW encryption for each bit, in order.
    pub fn new(bits: Vec<Rows>, gadget: Gadget) -> Self {
        Self { bits, gadget }
    }

    /// RLWE(T) → RLWE(T·X^(b + Σ aᵢ·zᵢ)) for exponents a₁ … a_n, b below 2d: the phase of an LWE
    /// encryption under the key's bits z. The exponents are public.
    pub fn rotate(&self, ring: &Ring, accumulator: &mut Rlwe, exponents: &[u32]) {
        let mut work = Workspace::new(ring, 2 * self.gadget.levels());
        let mut difference = Rlwe::zero(ring);
        let mut product = Rlwe::zero(ring);

        let (mask, body) = exponents.split_at(self.bits.len());
        let rotated = accumulator.clone();
        rotate(ring, &rotated, body[0] as usize, accumulator);

        // Skipping zero exponents leaks nothing, since exponents are public.
        for (&exponent, bit) in mask
            .iter()
            .zip(&self.bits)
            .filter(|(exponent, _)| **exponent != 0)
        {
            // CMUX: acc + bit·(acc·X^exponent − acc) is acc for a clear bit and its rotation for a
            // set one.
            rotate(ring, accumulator, exponent as usize, &mut difference);
            difference.sub_assign(ring, accumulator);
            work.external_product(ring, &self.gadget, &difference, bit, &mut product);
            accumulator.add_assign(ring, &product);
        }
    }
}

/// Computes out = rlwe·X^shift for `shift` below 2d.
pub fn rotate(ring: &Ring, rlwe: &Rlwe, shift: usize, out: &mut Rlwe) {
    ring.rotate(&rlwe.a, shift, &mut out.a);
    ring.rotate(&rlwe.b, shift, &mut out.b);
}
