//! The three hash functions, and the sender's simple hashing.

use papir_core::{Error, Result};
use papir_ring::prg::Seed;
use zeroize::Zeroizing;

use super::Item;
use super::params::{HASHES, PsiParams};
use crate::newton::modulus::words_of;

/// Hash functions h₁, h₂ and h₃ of a seed known to both parties.
pub struct Hashes {
    seed: [u8; 32],
    bins: usize,
}

impl Hashes {
    /// Hash functions of a seed into this many bins.
    pub fn new(seed: &Seed, bins: usize) -> Self {
        Self { seed: seed.0, bins }
    }

    /// The three bins of an item, which may coincide.
    pub fn bins_of(&self, item: Item) -> [usize; HASHES] {
        let mut bytes = [0; 8 * HASHES];
        let mut hasher = blake3::Hasher::new_keyed(&self.seed);
        hasher.update(&item.to_le_bytes()).finalize_xof().fill(&mut bytes);
        let words = words_of(&bytes);
        // ⌊word·bins/2⁶⁴⌋, with a bias of at most bins/2⁶⁴.
        std::array::from_fn(|i| ((u128::from(words[i]) * self.bins as u128) >> 64) as usize)
    }

    /// Fills the sender's bins: each item once in each of its bins.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if a bin exceeds [`PsiParams::load`]; another seed resolves that.
    pub fn simple(&self, params: &PsiParams, items: &[Item]) -> Result<Vec<Zeroizing<Vec<Item>>>> {
        let mut bins: Vec<Zeroizing<Vec<Item>>> =
            (0..self.bins).map(|_| Zeroizing::new(Vec::with_capacity(params.load()))).collect();
        for &item in items {
            let places = self.bins_of(item);
            for (i, &place) in places.iter().enumerate() {
                if places[..i].contains(&place) {
                    continue;
                }
                if bins[place].len() == params.load() {
                    let expected = format!("at most {}: draw another seed", params.load());
                    return Err(Error::out_of_bounds("a bin's load", params.load() as u64 + 1, expected));
                }
                bins[place].push(item);
            }
        }
        Ok(bins)
    }
}
