//! The receiver's cuckoo hashing: at most one element in each bin.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::Item;
use super::hashing::Hashes;
use super::params::HASHES;

/// Most moves of one insertion.
const MOVES: usize = 500;

/// Returns a table with each item in one of its bins; `None` if some item finds no place. Items
/// must be distinct. An item whose bins are occupied replaces one of their items, drawn at random,
/// which moves on (section 3.3).
pub fn fill(
    hashes: &Hashes,
    bins: usize,
    items: &[Item],
    rng: &mut dyn CryptoRng,
) -> Option<Zeroizing<Vec<Option<Item>>>> {
    let mut table = Zeroizing::new(vec![None; bins]);
    items.iter().all(|&item| insert(hashes, &mut table, item, rng)).then_some(table)
}

fn insert(hashes: &Hashes, table: &mut [Option<Item>], item: Item, rng: &mut dyn CryptoRng) -> bool {
    let mut homeless = item;
    for _ in 0..MOVES {
        let places = hashes.bins_of(homeless);
        if let Some(free) = places.into_iter().find(|&place| table[place].is_none()) {
            table[free] = Some(homeless);
            return true;
        }
        let place = places[rng.next_u32() as usize % HASHES];
        homeless = table[place].replace(homeless).unwrap_or(homeless);
    }
    false
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;
    use papir_ring::prg::Seed;

    use super::*;

    #[test]
    fn every_item_is_in_one_of_its_bins() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        for (count, bins) in [(0, 3), (1, 3), (7, 14), (1000, 1200)] {
            let items: Vec<Item> = (0..count).map(|i| i * i).collect();
            let filled = (0..).find_map(|seed| {
                let hashes = Hashes::new(&Seed([seed; 32]), bins);
                fill(&hashes, bins, &items, &mut rng).map(|table| (hashes, table))
            });
            let (hashes, table) = filled.unwrap();
            let held: Vec<(usize, Item)> =
                table.iter().enumerate().filter_map(|(bin, item)| Some((bin, (*item)?))).collect();
            assert!(held.iter().all(|&(bin, item)| hashes.bins_of(item).contains(&bin)));
            let mut found: Vec<Item> = held.into_iter().map(|(_, item)| item).collect();
            found.sort_unstable();
            assert_eq!(found, items);
        }
    }

    #[test]
    fn too_many_items_find_no_place() {
        let hashes = Hashes::new(&Seed([2; 32]), 5);
        assert!(fill(&hashes, 5, &[1, 2, 3, 4, 5, 6], &mut ChaCha20Rng::from_seed([3; 32])).is_none());
    }
}
