//! CDKS packing: d LWE encryptions into one RLWE encryption with log₂ d keys.
//!
//! Chen, Dai, Kim, Song: "Efficient homomorphic conversion between (ring) LWE ciphertexts" (2021),
//! PackLWEs, in the preprocessing model of YPIR. Two encryptions of 2^{L−1} messages each become one
//! of 2^L, with τ: X → X^{2^L+1} and EvalAuto switching from τ(s) back to s:
//!
//! ```text
//! merge(even, odd) = (even + X^{d/2^L}·odd) + EvalAuto(even − X^{d/2^L}·odd, τ)
//! ```
//!
//! | PackLWEs | here |
//! |---|---|
//! | the tree on masks, the digits that EvalAuto makes of them | [`offline`], all digits kept in values |
//! | the tree on bodies | [`online`]: in values, digits times keys, a permutation and additions a node |
//!
//! Every level doubles the messages; the LWE masks come divided by d ([`super::LweMasks`]), and so
//! do, in thought, the LWE bodies: what the tree makes of them is the polynomial of the bodies, which
//! is added at the end. So online the tree starts from zero.
//!
//! What is kept of a pack are the d − 1 nodes' digits in post-order: the tree of the even half, that
//! of the odd half, then the node that joins them.

pub mod offline;
pub mod online;

use papir_kernels::galois;
use papir_ring::prg::Seed;
use papir_ring::{Coefficients, Poly, Ring, Values};

use super::lwe_masks::LweMasks;
use super::ring_packing::{Bodies, PackingError, Preprocessed, RingPacking, Scratch, Setup};
use crate::gadget::{Gadget, GadgetParams};
use crate::noise::Setting;
use crate::params::RlweParams;

/// Levels from which on the two halves of a tree go to different threads.
const FORK_LEVEL: usize = 6;

/// CDKS packing under masks of its own for each of log₂ d keys.
#[derive(Clone, Debug)]
pub struct Cdks {
    setup: Setup,
    /// What merging takes at levels 1 to log₂ d.
    levels: Vec<Level>,
}

/// What merging two encryptions of 2^{L−1} messages takes.
#[derive(Clone, Debug)]
struct Level {
    /// X^{d/2^L}.
    monomial: Poly<Values>,
    /// τ: X → X^{2^L+1}.
    permutation: Vec<u32>,
}

impl Level {
    fn new(ring: &Ring, level: usize) -> Self {
        let d = ring.degree();
        let mut monomial = vec![0; d];
        monomial[d >> level] = 1;
        Self {
            monomial: ring.forward(ring.from_signed(&monomial)),
            permutation: galois::permutation(d, exponent(level)),
        }
    }

    /// even + X^{d/2^L}·odd and τ(even − X^{d/2^L}·odd).
    fn merge(&self, ring: &Ring, even: Poly<Values>, odd: &Poly<Values>) -> (Poly<Values>, Poly<Values>) {
        let shifted = ring.mul(odd, &self.monomial);
        let mut difference = even.clone();
        ring.sub_assign(&mut difference, &shifted);
        let mut sum = even;
        ring.add_assign(&mut sum, &shifted);
        (sum, ring.permute(&difference, &self.permutation))
    }
}

/// 2^L + 1.
const fn exponent(level: usize) -> usize {
    (1 << level) + 1
}

impl Cdks {
    fn ring(&self) -> &Ring {
        self.setup.ring()
    }

    /// log₂ d.
    fn top(&self) -> usize {
        self.levels.len()
    }

    /// What merging at a level takes, and its key's masks.
    fn level(&self, level: usize) -> (&Level, &[Poly<Values>]) {
        (&self.levels[level - 1], &self.setup.switches()[level - 1].masks)
    }

    /// Words of one node: ℓ digits, residues modulo both primes.
    fn node_words(&self) -> usize {
        self.setup.gadget().levels() * 2 * self.ring().degree()
    }

    /// Words of a tree of 2^level leaves.
    fn tree_words(&self, level: usize) -> usize {
        ((1 << level) - 1) * self.node_words()
    }
}

impl RingPacking for Cdks {
    const NAME: &'static str = "CDKS";
    type Word = u32;
    type Expanded = Vec<Poly<Values>>;

    fn new(params: &RlweParams, gadget: &Gadget, capacity: usize, seed: &Seed) -> Result<Self, PackingError> {
        let ring = params.ring();
        let d = ring.degree();
        if capacity != d {
            let expected = format!("the degree, {d}");
            return Err(PackingError::Capacity { packing: Self::NAME, found: capacity, expected });
        }
        let levels = 1..=d.ilog2() as usize;
        let switches: Vec<_> = levels.clone().map(|l| (exponent(l), format!("cdks/level-{l}/w"))).collect();
        let setup = Setup::new(Self::NAME, params, gadget, capacity, seed, &switches);
        Ok(Self { setup, levels: levels.map(|level| Level::new(ring, level)).collect() })
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

    fn prepare_slot(
        &self,
        lwe: LweMasks,
        _: usize,
        unit: &mut [u32],
        _: &Scratch,
    ) -> Result<Preprocessed, PackingError> {
        let a = self.ring().inverse(self.pack_masks(&lwe, 0, self.top(), unit));
        Ok(Preprocessed { a, last: Vec::new() })
    }

    fn expand(&self, bodies: &[Poly<Coefficients>]) -> Vec<Poly<Values>> {
        bodies.iter().map(|y| self.ring().forward(y.clone())).collect()
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
