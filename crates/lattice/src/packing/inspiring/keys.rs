//! The two packing keys of Algorithm 1: K_g from τ_g(s) to s and K_h from τ_h(s) to s.

use papir_kernels::galois;
use papir_ring::prg::Seed;
use papir_ring::{Poly, Ring, Values};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::GENERATOR;
use crate::gadget::Gadget;
use crate::key_switch;
use crate::params::RlweParams;
use crate::secret::SecretKey;

/// The labels of the streams of w_g and w_h.
pub(super) const G_LABEL: &str = "inspiring/w_g";
pub(super) const H_LABEL: &str = "inspiring/w_h";

/// The public halves w_g and w_h, ℓ ring elements each.
#[derive(Clone, Debug)]
pub struct PackingMasks {
    /// w_g.
    pub g: Vec<Poly<Values>>,
    /// w_h.
    pub h: Vec<Poly<Values>>,
}

impl PackingMasks {
    /// Expanded from a public seed, each element from a stream of its own.
    pub fn expand(ring: &Ring, seed: &Seed, levels: usize) -> Self {
        let masks = |label| key_switch::masks(ring, seed, label, levels);
        Self { g: masks(G_LABEL), h: masks(H_LABEL) }
    }
}

/// A client's halves y_g and y_h (GENKSMATY of Algorithm 8, with the sign of KS.Setup).
#[derive(Clone, Debug)]
pub struct PackingKey {
    /// y_g = −s·w_g + e + τ_g(s)·g.
    pub g: Vec<Poly<Values>>,
    /// y_h = −s·w_h + e + τ_h(s)·g.
    pub h: Vec<Poly<Values>>,
}

impl PackingKey {
    /// A fresh key.
    pub fn generate(
        params: &RlweParams,
        secret: &SecretKey,
        masks: &PackingMasks,
        gadget: &Gadget,
        rng: &mut dyn CryptoRng,
    ) -> Self {
        let ring = params.ring();
        let d = ring.degree();
        let mut half = |masks: &[Poly<Values>], e: usize| {
            let image = Zeroizing::new(ring.permute(secret.values(), &galois::permutation(d, e)));
            key_switch::generate(params, secret, &image, masks, gadget, rng)
        };
        Self { g: half(&masks.g, GENERATOR), h: half(&masks.h, 2 * d - 1) }
    }
}
