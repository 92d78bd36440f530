//! Hashing of both sets into bins: simple for the sender, cuckoo for the receiver.

use papir_core::{Error, Result};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::Item;
use super::params::{HASHES, PsiParams};
use crate::newton::modulus::words_of;

/// Maximum number of moves of one insertion.
const MOVES: usize = 500;

/// Hash functions h₁, h₂ and h₃ of a seed known to both parties.
pub struct Hashes {
    seed: [u8; 32],
    bins: usize,
}

impl Hashes {
    /// Hash functions of a seed into `bins` bins.
    pub fn new(seed: &Seed, bins: usize) -> Self {
        Self { seed: seed.0, bins }
    }

    /// The three bins of an item, which may coincide.
    pub fn bins_of(&self, item: Item) -> [usize; HASHES] {
        let mut bytes = [0; 8 * HASHES];
        let mut hasher = blake3::Hasher::new_keyed(&self.seed);
        hasher
            .update(&item.to_le_bytes())
            .finalize_xof()
            .fill(&mut bytes);
        let words = words_of(&bytes);
        // ⌊word·bins/2⁶⁴⌋, with a bias of at most bins/2⁶⁴.
        std::array::from_fn(|i| ((u128::from(words[i]) * self.bins as u128) >> 64) as usize)
    }

    /// Fills the sender's bins: each item once in each of its bins.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if a bin exceeds [`PsiParams::load`]; another seed resolves that.
    pub fn simple(&self, params: &PsiParams, items: &[Item]) -> Result<Vec<Zeroizing<Vec<Item>>>> {
        // Full capacity from the start: growing would leave copies of items behind.
        let mut bins: Vec<Zeroizing<Vec<Item>>> = (0..self.bins)
            .map(|_| Zeroizing::new(Vec::with_capacity(params.load())))
            .collect();

        for &item in items {
            let places = self.bins_of(item);
            for (i, &place) in places.iter().enumerate() {
                // Two of an item's bins may coincide, and an element occurs once in a bin.
                if places[..i].contains(&place) {
                    continue;
                }
                if bins[place].len() == params.load() {
                    let expected = format!("at most {}: draw another seed", params.load());
                    return Err(Error::out_of_bounds(
                        "a bin's load",
                        params.load() as u64 + 1,
                        expected,
                    ));
                }
                bins[place].push(item);
            }
        }
        Ok(bins)
    }
}

/// Cuckoo hashing (section 3.3): returns a table with each item in one of its three bins and at
/// most one item per bin, or `None` if an item cannot be placed. Items must be distinct.
///
/// An item whose bins are all occupied replaces a random one of the occupants, which is inserted
/// again.
pub fn cuckoo(
    hashes: &Hashes,
    bins: usize,
    items: &[Item],
    rng: &mut dyn CryptoRng,
) -> Option<Zeroizing<Vec<Option<Item>>>> {
    let mut table = Zeroizing::new(vec![None; bins]);
    items
        .iter()
        .all(|&item| insert(hashes, &mut table, item, rng))
        .then_some(table)
}

fn insert(
    hashes: &Hashes,
    table: &mut [Option<Item>],
    mut item: Item,
    rng: &mut dyn CryptoRng,
) -> bool {
    for _ in 0..MOVES {
        let places = hashes.bins_of(item);
        if let Some(free) = places.into_iter().find(|&place| table[place].is_none()) {
            table[free] = Some(item);
            return true;
        }

        // A random occupant: always the first one could cycle between the same bins.
        let place = places[rng.next_u32() as usize % HASHES];
        item = table[place].replace(item).unwrap_or(item);
    }
    false
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn every_item_is_in_one_of_its_bins() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        for (count, bins) in [(0, 3), (1, 3), (7, 14), (1000, 1200)] {
            let items: Vec<Item> = (0..count).map(|i| i * i).collect();
            let filled = (0..).find_map(|seed| {
                let hashes = Hashes::new(&Seed([seed; 32]), bins);
                cuckoo(&hashes, bins, &items, &mut rng).map(|table| (hashes, table))
            });
            let (hashes, table) = filled.unwrap();

            let held: Vec<(usize, Item)> = table
                .iter()
                .enumerate()
                .filter_map(|(bin, item)| Some((bin, (*item)?)))
                .collect();

            assert!(
                held.iter()
                    .all(|&(bin, item)| hashes.bins_of(item).contains(&bin))
            );

            let mut found: Vec<Item> = held.into_iter().map(|(_, item)| item).collect();
            found.sort_unstable();
            assert_eq!(found, items);
        }
    }

    #[test]
    fn too_many_items_find_no_place() {
        let hashes = Hashes::new(&Seed([2; 32]), 5);
        assert!(
            cuckoo(
                &hashes,
                5,
                &[1, 2, 3, 4, 5, 6],
                &mut ChaCha20Rng::from_seed([3; 32])
            )
            .is_none()
        );
    }
}
