//! Key-switching keys (InsPIRe, section 2, KS.Setup).
//!
//! A key from s′ to s is K = [w, y] with y = −s·w + e + s′·g.

use std::ops::Range;

use papir_ring::prg::Seed;
use papir_ring::{Accumulator, CyclotomicRing, Poly, Ring, Values};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::gadget::Gadget;
use crate::params::RlweParams;
use crate::rlwe::encrypt;
use crate::secret::SecretKey;

/// Expands ℓ masks w from the public seed, each from its own stream.
pub fn masks<R: CyclotomicRing>(
    ring: &R,
    seed: &Seed,
    label: &str,
    levels: usize,
) -> Vec<Poly<Values, R::Word>> {
    masks_from(ring, seed, label, 0..levels)
}

/// Expands the masks of these rows from the public seed, each from its own stream.
pub fn masks_from<R: CyclotomicRing>(
    ring: &R,
    seed: &Seed,
    label: &str,
    rows: Range<usize>,
) -> Vec<Poly<Values, R::Word>> {
    rows.map(|i| ring.uniform(&mut seed.expand(label, i as u64)))
        .collect()
}

/// KS.Setup: returns the bodies y for masks w, from the key `source` (in values) to `target`.
pub fn generate<R: CyclotomicRing>(
    params: &RlweParams<R>,
    target: &SecretKey<R::Word>,
    source: &Poly<Values, R::Word>,
    masks: &[Poly<Values, R::Word>],
    gadget: &Gadget<R>,
    rng: &mut dyn CryptoRng,
) -> Vec<Poly<Values, R::Word>> {
    masks
        .iter()
        .enumerate()
        .map(|(i, mask)| {
            // A multiple of the secret, erased after its row.
            let scaled = Zeroizing::new(params.ring().scale(source, gadget.factor(i)));
            encrypt(params, target, mask, &scaled, rng)
        })
        .collect()
}

/// Returns Σ digitᵢ·rowᵢ.
pub fn inner_product(ring: &Ring, digits: &[Poly<Values>], rows: &[Poly<Values>]) -> Poly<Values> {
    // Sums of up to 256 products of residues below 2²⁸ fit 64 bits; gadgets have fewer digits.
    let mut sum = Accumulator::new(ring);
    for (digit, row) in digits.iter().zip(rows) {
        sum.add_product(digit, row);
    }
    sum.reduce(ring)
}
