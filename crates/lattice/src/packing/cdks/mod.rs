//! CDKS packing: d LWE encryptions with log₂ d keys.
//!
//! PackLWEs of Chen, Dai, Kim, Song: "Efficient homomorphic conversion between (ring) LWE
//! ciphertexts" (2021), in the preprocessing model of YPIR. Two encryptions of 2^{L−1} messages
//! each become one of 2^L, with τ: X → X^{2^L+1} and EvalAuto switching from τ(s) back to s:
//!
//! ```text
//! merge(even, odd) = (even + X^{d/2^L}·odd) + EvalAuto(even − X^{d/2^L}·odd, τ)
//! ```
//!
//! | PackLWEs | module |
//! |---|---|
//! | tree on masks, digits of EvalAuto | [`offline`], all digits kept in values |
//! | tree on bodies | [`online`], in values: for each node digits times keys, permuted and added |
//! | both for a few encryptions, whose masks a query makes | [`few`] |
//!
//! Every level doubles the messages. The LWE masks are therefore divided by d in advance
//! ([`super::LweMasks`]). The LWE bodies, conceptually divided by d as well, come out of the tree
//! as the polynomial of the bodies, which is added at the end; online the tree starts from zero.
//!
//! A pack keeps the digits of its d − 1 nodes in post-order: the tree of the even half, the tree of
//! the odd half, then the node that merges them.

pub mod few;
pub mod offline;
pub mod online;
pub mod tree;

pub use tree::Cdks;

use papir_ring::prg::Seed;
use papir_ring::{CyclotomicRing, Poly, Values};

use super::bodies::Bodies;
use super::error::PackingError;
use super::key::{RoundedMatrix, Setup};
use super::lwe_masks::LweMasks;
use super::ring_packing::{Preprocessed, RingPacking, Scratch};
use crate::gadget::{Gadget, GadgetParams};
use crate::noise::Setting;
use crate::params::RlweParams;
use tree::{Level, exponent};

impl RingPacking for Cdks {
    const NAME: &'static str = "CDKS";
    type Word = u32;
    type Expanded = Vec<Poly<Values>>;

    fn new(
        params: &RlweParams,
        gadget: &Gadget,
        capacity: usize,
        seed: &Seed,
    ) -> Result<Self, PackingError> {
        let ring = params.ring();
        let d = ring.degree();
        if capacity != d {
            let expected = format!("the degree, {d}");
            return Err(PackingError::Capacity {
                packing: Self::NAME,
                found: capacity,
                expected,
            });
        }

        let levels = 1..=d.ilog2() as usize;
        let switches: Vec<_> = levels
            .clone()
            .map(|l| (exponent(l), format!("cdks/level-{l}/w")))
            .collect();
        let setup = Setup::new(Self::NAME, params, gadget, capacity, seed, &switches);

        Ok(Self {
            setup,
            levels: levels.map(|level| Level::new(ring, level)).collect(),
        })
    }

    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn slots(&self) -> usize {
        1
    }

    fn unit_words(&self) -> usize {
        self.tree_words(self.top())
    }

    fn prepare_slot(&self, lwe: LweMasks, _: usize, unit: &mut [u32], _: &Scratch) -> Preprocessed {
        let a = self
            .ring()
            .inverse(self.pack_masks(&lwe, 0, self.top(), unit));
        Preprocessed {
            a,
            last: Vec::new(),
        }
    }

    fn expand(&self, matrices: &[RoundedMatrix<'_>]) -> Vec<Poly<Values>> {
        matrices
            .iter()
            .flat_map(|matrix| matrix.lift(self.ring()))
            .collect()
    }

    fn apply(
        &self,
        words: &[u32],
        _: usize,
        _: &[&[Poly<Values>]],
        keys: &[&Vec<Poly<Values>>],
    ) -> Vec<Bodies> {
        self.pack_bodies(words, keys)
    }

    fn variance(setting: &Setting, gadget: GadgetParams, _: usize) -> f64 {
        setting.cdks_packing(gadget)
    }
}
