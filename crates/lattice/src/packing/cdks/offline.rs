//! PackLWEs on masks: the packed mask and EvalAuto's digits.

use papir_ring::{CyclotomicRing, Poly, Values};

use super::super::lwe_masks::LweMasks;
use super::tree::{Cdks, FORK_LEVEL};
use crate::key_switch::inner_product;

impl Cdks {
    /// Returns the packed mask of the 2^level encryptions `offset`, `offset` + d/2^level, …; writes
    /// the digits of all nodes of their tree to `words`, in post-order.
    pub(super) fn pack_masks(
        &self,
        lwe: &LweMasks,
        offset: usize,
        level: usize,
        words: &mut [u32],
    ) -> Poly<Values> {
        let ring = self.ring();
        if level == 0 {
            return ring.forward(lwe.poly(offset));
        }

        // Post-order: the tree of the even half, the tree of the odd half, then this node.
        let half = self.tree_words(level - 1);
        let (even_words, rest) = words.split_at_mut(half);
        let (odd_words, node) = rest.split_at_mut(half);

        // The odd half of encryptions spaced d/2^level apart begins one step later.
        let next = offset + (ring.degree() >> level);
        let mut even = || self.pack_masks(lwe, offset, level - 1, even_words);
        let mut odd = || self.pack_masks(lwe, next, level - 1, odd_words);
        let (even, odd) = if level < FORK_LEVEL {
            (even(), odd())
        } else {
            rayon::join(even, odd)
        };

        let (merging, masks) = self.level(level);
        let (mut sum, image) = merging.merge(ring, even, &odd);
        let digits = self
            .setup
            .gadget()
            .decompose_to_values(ring, &ring.inverse(image));
        ring.add_assign(&mut sum, &inner_product(ring, &digits, masks));

        for (out, digit) in node.chunks_exact_mut(2 * ring.degree()).zip(&digits) {
            out.copy_from_slice(digit.residues());
        }

        sum
    }
}
