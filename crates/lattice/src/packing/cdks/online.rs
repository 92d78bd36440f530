//! PackLWEs on bodies, with the precomputed digits.

use papir_kernels::pointwise::{mul_accumulate, reduce};
use papir_ring::{Coefficients, CyclotomicRing, Poly, Values};
use rayon::prelude::*;

use super::super::bodies::Bodies;
use super::tree::{Cdks, FORK_LEVEL};

impl Cdks {
    /// Returns, for each key, the bodies that packing adds to all packs. Keys share one pass over
    /// the digits.
    pub(super) fn pack_bodies(&self, words: &[u32], keys: &[&Vec<Poly<Values>>]) -> Vec<Bodies> {
        let ring = self.ring();
        let packs: Vec<Vec<Poly<Coefficients>>> = words
            .par_chunks_exact(self.tree_words(self.top()))
            .map(|tree| self.merge_bodies(self.top(), tree, keys))
            .map(|bodies| bodies.into_iter().map(|body| ring.inverse(body)).collect())
            .collect();

        // A tree gives one body for each key; a client needs those of its key, pack after pack.
        (0..keys.len())
            .map(|i| {
                let bodies: Vec<_> = packs.iter().map(|bodies| bodies[i].clone()).collect();
                Bodies::from_polys(ring.degree(), &bodies)
            })
            .collect()
    }

    /// Returns one body for each key: the body of a tree of 2^level zero leaves, level at least 1.
    fn merge_bodies(
        &self,
        level: usize,
        words: &[u32],
        keys: &[&Vec<Poly<Values>>],
    ) -> Vec<Poly<Values>> {
        let ring = self.ring();
        let half = self.tree_words(level - 1);
        let (children, node) = words.split_at(2 * half);

        let mut bodies: Vec<_> = keys
            .iter()
            .map(|key| self.switch(level, node, key))
            .collect();
        // The leaves are zero: a node above them has nothing but its key switch.
        if level == 1 {
            return bodies;
        }

        let (even, odd) = children.split_at(half);
        let even = || self.merge_bodies(level - 1, even, keys);
        let odd = || self.merge_bodies(level - 1, odd, keys);
        let (even, odd) = if level < FORK_LEVEL {
            (even(), odd())
        } else {
            rayon::join(even, odd)
        };

        for ((body, even), odd) in bodies.iter_mut().zip(even).zip(&odd) {
            let (sum, image) = self.level(level).0.merge(ring, even, odd);
            ring.add_assign(body, &sum);
            ring.add_assign(body, &image);
        }

        bodies
    }

    /// Returns Σᵢ digitᵢ·yᵢ with the key of a level.
    fn switch(&self, level: usize, node: &[u32], key: &[Poly<Values>]) -> Poly<Values> {
        let ring = self.ring();
        let d = ring.degree();
        let count = self.setup.gadget().levels();

        // ℓ products of residues below 2²⁸ fit 64 bits for ℓ ≤ 256, so one reduction suffices.
        let mut sums = vec![0; 2 * d];
        for (digit, y) in node
            .chunks_exact(2 * d)
            .zip(&key[(level - 1) * count..][..count])
        {
            mul_accumulate(ring.backend(), &mut sums, digit, y.residues());
        }

        let mut body = ring.zero();
        for ((out, sums), prime) in body
            .parts_mut()
            .into_iter()
            .zip(sums.chunks_exact(d))
            .zip(ring.primes())
        {
            reduce(ring.backend(), out, sums, prime);
        }

        body
    }
}
