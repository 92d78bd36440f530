//! The merge tree of PackLWEs.

use papir_kernels::galois;
use papir_ring::{CyclotomicRing, Poly, Ring, Values};

use super::super::key::Setup;

/// Lowest level at which the halves of a tree are processed on different threads.
pub(super) const FORK_LEVEL: usize = 6;

/// CDKS packing, with separate masks for each of its log₂ d keys.
#[derive(Clone, Debug)]
pub struct Cdks {
    pub(super) setup: Setup,
    /// Constants of merging at levels 1 to log₂ d.
    pub(super) levels: Vec<Level>,
}

/// Constants of merging two encryptions of 2^{L−1} messages.
#[derive(Clone, Debug)]
pub(super) struct Level {
    /// X^{d/2^L}.
    monomial: Poly<Values>,
    /// τ: X → X^{2^L+1}.
    permutation: Vec<u32>,
}

impl Level {
    pub(super) fn new(ring: &Ring, level: usize) -> Self {
        let d = ring.degree();
        let mut monomial = vec![0; d];
        monomial[d >> level] = 1;
        Self {
            monomial: ring.forward(ring.from_signed(&monomial)),
            permutation: galois::permutation(d, exponent(level)),
        }
    }

    /// Returns even + X^{d/2^L}·odd and τ(even − X^{d/2^L}·odd).
    pub(super) fn merge(
        &self,
        ring: &Ring,
        even: Poly<Values>,
        odd: &Poly<Values>,
    ) -> (Poly<Values>, Poly<Values>) {
        let shifted = ring.mul(odd, &self.monomial);
        let mut difference = even.clone();
        ring.sub_assign(&mut difference, &shifted);
        // The sum takes over the memory of `even`, so only the difference is a copy.
        let mut sum = even;
        ring.add_assign(&mut sum, &shifted);
        (sum, ring.permute(&difference, &self.permutation))
    }
}

/// 2^L + 1.
pub(super) const fn exponent(level: usize) -> usize {
    (1 << level) + 1
}

impl Cdks {
    pub(super) fn ring(&self) -> &Ring {
        self.setup.ring()
    }

    /// log₂ d.
    pub(super) fn top(&self) -> usize {
        self.levels.len()
    }

    /// Returns the constants of a level and the masks of its key.
    pub(super) fn level(&self, level: usize) -> (&Level, &[Poly<Values>]) {
        (
            &self.levels[level - 1],
            &self.setup.switches()[level - 1].masks,
        )
    }

    /// Words of one node: ℓ digits, residues modulo both primes.
    pub(super) fn node_words(&self) -> usize {
        self.setup.gadget().levels() * 2 * self.ring().degree()
    }

    /// Words of a tree of 2^level leaves.
    pub(super) fn tree_words(&self, level: usize) -> usize {
        ((1 << level) - 1) * self.node_words()
    }
}
