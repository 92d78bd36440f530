//! Public pseudorandom permutations of 0..n, computed pointwise in both directions.

use papir_core::mix;
use papir_ring::prg::Seed;

/// Rounds of the network. Its halves differ by at most one bit.
const ROUNDS: usize = 8;
/// Least bits of the network's domain, so that its halves are not tiny.
const MIN_BITS: u32 = 12;

/// A Feistel network on ⌈log₂ n⌉ bits, iterated until the result is below n.
///
/// It distributes records over buckets by a public seed. It hides nothing, but must look random to
/// anyone who chose indices before the seed was drawn.
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    count: u64,
    low_bits: u32,
    high_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation of 0..`count` with this number under a seed.
    pub(super) fn new(seed: &Seed, number: usize, count: u64) -> Self {
        let bits = MIN_BITS.max(u64::BITS - count.saturating_sub(1).leading_zeros());
        let mut bytes = [0; 8 * ROUNDS];
        seed.expand("batched/permutation", number as u64).fill(&mut bytes);
        let mut keys = [0; ROUNDS];
        for (key, bytes) in keys.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *key = u64::from_le_bytes(*bytes);
        }
        Self { count, low_bits: bits / 2, high_bits: bits - bits / 2, keys }
    }

    /// The image of a value. Variable in time.
    pub(super) fn forward(&self, value: u64) -> u64 {
        let mut image = self.rounds(value, self.keys.iter().enumerate());
        while image >= self.count {
            image = self.rounds(image, self.keys.iter().enumerate());
        }
        image
    }

    /// The value with this image.
    pub(super) fn inverse(&self, image: u64) -> u64 {
        let mut value = self.rounds(image, self.keys.iter().enumerate().rev());
        while value >= self.count {
            value = self.rounds(value, self.keys.iter().enumerate().rev());
        }
        value
    }

    /// Applies rounds in this order. Each changes one half by the other and is its own inverse.
    fn rounds<'a>(&self, value: u64, keys: impl Iterator<Item = (usize, &'a u64)>) -> u64 {
        let (low_mask, high_mask) = ((1 << self.low_bits) - 1, (1 << self.high_bits) - 1);
        let (mut low, mut high) = (value & low_mask, value >> self.low_bits);
        for (round, key) in keys {
            if round % 2 == 0 {
                low ^= mix(high ^ key) & low_mask;
            } else {
                high ^= mix(low ^ key) & high_mask;
            }
        }
        high << self.low_bits | low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_once_and_back() {
        for count in [1, 2, 3, 64, 1000, 4096, 4097] {
            let permutation = Permutation::new(&Seed([7; 32]), 1, count);
            let mut seen = vec![false; count as usize];
            for value in 0..count {
                let image = permutation.forward(value);
                assert!(!std::mem::replace(&mut seen[image as usize], true), "{count}: {image} twice");
                assert_eq!(permutation.inverse(image), value);
            }
        }
    }

    #[test]
    fn permutations_of_one_seed_differ_and_move_nearly_all() {
        let count = 1 << 14;
        let [first, second] = [0, 1].map(|number| Permutation::new(&Seed([1; 32]), number, count));
        let same = (0..count).filter(|&x| first.forward(x) == second.forward(x)).count();
        let fixed = (0..count).filter(|&x| first.forward(x) == x).count();
        // One is expected of either; Poisson.
        assert!(same < 15 && fixed < 15, "{same} {fixed}");
    }

    #[test]
    fn neighbours_spread_over_residues_as_random_values_do() {
        let (count, width) = (1 << 20, 23);
        let permutation = Permutation::new(&Seed([9; 32]), 0, count);
        let mut counts = vec![0f64; width];
        (0..23_000).for_each(|x| counts[(permutation.forward(x) % width as u64) as usize] += 1.0);
        let chi_square: f64 = counts.iter().map(|found| (found - 1000.0).powi(2) / 1000.0).sum();
        // 22 degrees of freedom: above 67 with probability 10⁻⁶; the seed is fixed.
        assert!(chi_square < 67.0, "{chi_square}");
    }
}
