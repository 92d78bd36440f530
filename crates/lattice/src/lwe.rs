//! LWE encryption of a selector under negacyclic masks.
//!
//! Column c of block i has the mask row ⟨A[i·d + c], ·⟩ with A[i·d + c]·s = (aᵢ·s)\[c\],
//! coefficient c of a ring product. One ring multiplication therefore gives d encryptions, and
//! their security is that of RLWE.

use papir_ring::prg::Seed;
use papir_ring::{CyclotomicRing, Poly, Values};
use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::params::RlweParams;
use crate::rlwe::encrypt;
use crate::secret::SecretKey;

/// Returns the mask aᵢ of block `i`, expanded from the public seed; `label` is the purpose.
pub fn block_mask(params: &RlweParams, seed: &Seed, label: &str, i: usize) -> Poly<Values> {
    params.ring().uniform(&mut seed.expand(label, i as u64))
}

/// Returns the bodies of `columns` LWE encryptions, in [0, q): of `scale` at `selected`, of zero
/// elsewhere.
///
/// `selected` is secret: every column is compared with it in constant time.
pub fn encrypt_selector(
    params: &RlweParams,
    secret: &SecretKey,
    masks: impl Iterator<Item = Poly<Values>>,
    columns: usize,
    selected: u32,
    scale: u64,
    rng: &mut dyn CryptoRng,
) -> Vec<u64> {
    let ring = params.ring();
    let d = ring.degree();
    let mut bodies = Vec::with_capacity(columns.next_multiple_of(d));

    for (i, mask) in masks.take(columns.div_ceil(d)).enumerate() {
        let first = (i * d) as u32;
        // Every column is compared, in constant time: the position is secret.
        let message = (0..d as u32)
            .map(|c| u64::from((first + c).ct_eq(&selected).unwrap_u8()) * scale)
            .collect::<Vec<u64>>();
        let message = Zeroizing::new(message);
        let message = Zeroizing::new(ring.forward(ring.from_words(&message)));

        bodies.extend(ring.to_words(&ring.inverse(encrypt(params, secret, &mask, &message, rng))));
    }

    bodies.truncate(columns);
    bodies
}
