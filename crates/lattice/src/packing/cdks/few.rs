//! PackLWEs of a few encryptions, on masks and bodies at once, while a query waits.
//!
//! All other leaves of the tree are zero. So it has one node at most for each leaf and level, up to
//! (log₂ d)·n in place of d − 1.

use papir_ring::{Coefficients, CyclotomicRing, Poly, Values};

use super::super::checked::Packing;
use super::super::error::PackingError;
use super::super::key::OnlineKey;
use super::tree::Cdks;
use crate::key_switch::inner_product;
use crate::rlwe::Rlwe;

/// The place of an LWE encryption in its pack, and its mask in packing form for packs of d
/// ([`super::super::LweMasks`]).
pub type Leaf = (usize, Poly<Coefficients>);

/// Mask and body.
type RlwePair = [Poly<Values>; 2];

impl Packing<Cdks> {
    /// Packs a few LWE encryptions into one RLWE encryption. Its body lacks the bodies of the LWE
    /// encryptions: each is to be added to the coefficient of its place.
    ///
    /// # Errors
    /// [`PackingError::Key`] for the key of another packing, [`PackingError::Place`] for a place of
    /// two leaves or one that is not below d.
    pub fn pack_few(
        &self,
        leaves: &[Leaf],
        key: &OnlineKey<Vec<Poly<Values>>>,
    ) -> Result<Rlwe, PackingError> {
        self.check_key(key.shape)?;
        let tree = &self.algorithm;
        let ring = tree.ring();
        check_places(leaves, ring.degree())?;

        let root = tree.merge_few(0, tree.top(), leaves.iter().collect(), &key.key);
        let [a, b] = root
            .unwrap_or_else(|| tree.zeros())
            .map(|part| ring.inverse(part));
        Ok(Rlwe { a, b })
    }
}

impl Cdks {
    /// The tree of the encryptions `offset`, `offset` + d/2^level, …; `None` if all are zero.
    fn merge_few(
        &self,
        offset: usize,
        level: usize,
        leaves: Vec<&Leaf>,
        key: &[Poly<Values>],
    ) -> Option<RlwePair> {
        let ring = self.ring();
        let first = leaves.first()?;
        if level == 0 {
            return Some([ring.forward(first.1.clone()), ring.zero()]);
        }
        let step = ring.degree() >> level;
        // All places here are `offset` plus a multiple of `step`, whose parity is the half.
        let (even, odd): (Vec<_>, Vec<_>) = leaves
            .into_iter()
            .partition(|leaf| ((leaf.0 - offset) / step).is_multiple_of(2));

        let (even, odd) = rayon::join(
            || self.merge_few(offset, level - 1, even, key),
            || self.merge_few(offset + step, level - 1, odd, key),
        );
        let [even, odd] = [even, odd].map(|half| half.unwrap_or_else(|| self.zeros()));
        Some(self.merge_pair(level, even, &odd, key))
    }

    /// One node: merge and EvalAuto, of masks and bodies.
    fn merge_pair(
        &self,
        level: usize,
        even: RlwePair,
        odd: &RlwePair,
        key: &[Poly<Values>],
    ) -> RlwePair {
        let ring = self.ring();
        let (merging, masks) = self.level(level);
        let levels = self.setup.gadget().levels();
        let [even_a, even_b] = even;
        let [odd_a, odd_b] = odd;
        let (mut a, image_a) = merging.merge(ring, even_a, odd_a);
        let (mut b, image_b) = merging.merge(ring, even_b, odd_b);

        // EvalAuto decomposes only the mask's image. Its digits multiply both halves of the key.
        let digits = self
            .setup
            .gadget()
            .decompose_to_values(ring, &ring.inverse(image_a));

        ring.add_assign(&mut a, &inner_product(ring, &digits, masks));
        ring.add_assign(&mut b, &image_b);
        ring.add_assign(
            &mut b,
            &inner_product(ring, &digits, &key[(level - 1) * levels..][..levels]),
        );

        [a, b]
    }

    fn zeros(&self) -> RlwePair {
        [self.ring().zero(), self.ring().zero()]
    }
}

/// Returns [`PackingError::Place`] unless all leaves have different places below `places`.
fn check_places(leaves: &[Leaf], places: usize) -> Result<(), PackingError> {
    let mut taken = vec![false; places];
    for &(found, _) in leaves {
        // Leaves of one place would stay together below the lowest level of the tree.
        match taken.get_mut(found) {
            Some(taken) if !*taken => *taken = true,
            _ => return Err(PackingError::Place { found, places }),
        }
    }
    Ok(())
}
