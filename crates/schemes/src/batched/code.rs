//! The batch code: places of copies, and their choice.

use papir_core::mix;
use papir_ring::prg::Seed;
use zeroize::{DefaultIsZeroes, Zeroizing};

/// Number of rounds of the Feistel network. The two halves of its domain differ by at most one bit.
const ROUNDS: usize = 8;
/// Least number of bits of the Feistel network's domain. With fewer its halves would be too small.
const MIN_BITS: u32 = 12;

/// Number of buckets: `functions` groups of `width`, with a copy of every record in each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Buckets {
    /// w, the number of groups. Each record has a copy in each group.
    pub(super) functions: usize,
    /// g, the number of buckets in a group.
    pub(super) width: usize,
}

impl Buckets {
    /// Returns the number of all buckets, w·g.
    pub(super) const fn count(self) -> usize {
        self.functions * self.width
    }

    /// Returns the number of places in one bucket, ⌈N/g⌉ for N = `records`. In some buckets the
    /// last place is empty.
    pub(super) const fn records(self, records: u64) -> u64 {
        records.div_ceil(self.width as u64)
    }
}

/// The place of one copy of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CopyPlace {
    pub(super) bucket: usize,
    /// Position of the copy in its bucket, from 0.
    pub(super) position: u64,
}

impl DefaultIsZeroes for CopyPlace {}

/// Copies by permutations: copy j of record i is number ⌊πⱼ(i)/g⌋ of bucket πⱼ(i) mod g of group j.
///
/// Both directions are computed, so no table is stored. The copies of a record are in different
/// buckets.
#[derive(Clone, Debug)]
pub(super) struct Code {
    records: u64,
    buckets: Buckets,
    permutations: Vec<Permutation>,
}

impl Code {
    pub(super) fn new(records: u64, buckets: Buckets, seed: &Seed) -> Self {
        let permutations = (0..buckets.functions)
            .map(|number| Permutation::new(seed, number, records))
            .collect();
        Self {
            records,
            buckets,
            permutations,
        }
    }

    /// Returns the places of a record's copies, one for each group in order. Variable in time.
    pub(super) fn places_vartime(&self, index: u64) -> impl Iterator<Item = CopyPlace> {
        let width = self.buckets.width as u64;
        self.permutations
            .iter()
            .enumerate()
            .map(move |(group, permutation)| {
                let image = permutation.forward(index);
                let bucket = group * self.buckets.width + (image % width) as usize;
                CopyPlace {
                    bucket,
                    position: image / width,
                }
            })
    }

    /// Returns the index of the record whose copy is at a place, or `None` for the empty place at
    /// the end of some buckets.
    pub(super) fn record_at(&self, place: CopyPlace) -> Option<u64> {
        let group = place.bucket / self.buckets.width;
        let rest = place.bucket % self.buckets.width;
        let image = place.position * self.buckets.width as u64 + rest as u64;
        (image < self.records).then(|| self.permutations[group].inverse(image))
    }
}

/// Public pseudorandom permutation of 0..n, computed pointwise in both directions: a Feistel
/// network on ⌈log₂ n⌉ bits, iterated until the result is below n.
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
    /// Creates the permutation of 0..`count` that has this number under a seed.
    pub(super) fn new(seed: &Seed, number: usize, count: u64) -> Self {
        // For counts above 2^11 the domain is less than twice the count, so that walking takes
        // fewer than two tries on average.
        let bits = MIN_BITS.max(u64::BITS - count.saturating_sub(1).leading_zeros());
        let mut bytes = [0; 8 * ROUNDS];
        seed.expand("batched/permutation", number as u64)
            .fill(&mut bytes);

        let mut keys = [0; ROUNDS];
        for (key, bytes) in keys.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *key = u64::from_le_bytes(*bytes);
        }

        Self {
            count,
            low_bits: bits / 2,
            high_bits: bits - bits / 2,
            keys,
        }
    }

    /// Returns the image of a value below the count. Variable in time.
    pub(super) fn forward(&self, value: u64) -> u64 {
        // The walk follows a cycle of the permutation of the whole domain, which returns to `value`
        // itself: it ends at the latest there.
        let mut image = self.rounds(value, self.keys.iter().enumerate());
        while image >= self.count {
            image = self.rounds(image, self.keys.iter().enumerate());
        }
        image
    }

    /// Returns the value whose image is `image`.
    pub(super) fn inverse(&self, image: u64) -> u64 {
        // Walks the same cycle backwards: the first value below the count is the one that `forward`
        // left.
        let mut value = self.rounds(image, self.keys.iter().enumerate().rev());
        while value >= self.count {
            value = self.rounds(value, self.keys.iter().enumerate().rev());
        }
        value
    }

    /// Applies the rounds in the order of `keys`. Each round changes one half by the other and is
    /// its own inverse.
    fn rounds<'a>(&self, value: u64, keys: impl Iterator<Item = (usize, &'a u64)>) -> u64 {
        let low_mask = (1 << self.low_bits) - 1;
        let high_mask = (1 << self.high_bits) - 1;
        // Halves have at most 32 bits each, as the domain has at most 64.
        let mut low = value & low_mask;
        let mut high = value >> self.low_bits;

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

/// Assigns distinct buckets to the largest possible number of records. Each record gets one of its
/// candidates, or `None` if none is left.
///
/// The result is a maximum matching, found by shortest augmenting paths: if distinct buckets exist
/// for all records, all records get one. Cuckoo hashing follows these paths at random and may give
/// up earlier. The function is variable in time and runs on the client before anything is sent.
pub(super) fn place_vartime(
    candidates: &[Vec<usize>],
    buckets: usize,
) -> Zeroizing<Vec<Option<usize>>> {
    let mut holder = Zeroizing::new(vec![None; buckets]);
    // Each record is tried once: one that no augmenting path reaches now has none later either.
    for record in 0..candidates.len() {
        augment(candidates, &mut holder, record);
    }

    let mut chosen = Zeroizing::new(vec![None; candidates.len()]);
    for (bucket, record) in holder.iter().enumerate() {
        if let Some(record) = record {
            chosen[*record] = Some(bucket);
        }
    }
    chosen
}

/// Finds a bucket for one more record, and moves other records if it must. Changes nothing if there
/// is no bucket for it.
fn augment(candidates: &[Vec<usize>], holder: &mut [Option<usize>], record: usize) {
    // The record from which each bucket was reached.
    let mut reached: Zeroizing<Vec<Option<usize>>> = Zeroizing::new(vec![None; holder.len()]);
    // Each record is queued at most once: it is reached through the bucket that it holds.
    let mut waiting = Zeroizing::new(Vec::with_capacity(candidates.len()));
    waiting.push(record);

    // Breadth first: the shortest path moves the fewest records.
    let mut next = 0;
    while let Some(&asking) = waiting.get(next) {
        next += 1;
        for &bucket in &candidates[asking] {
            if reached[bucket].is_some() {
                continue;
            }
            reached[bucket] = Some(asking);
            match holder[bucket] {
                Some(other) => waiting.push(other),
                None => return shift(&reached, candidates, holder, bucket),
            }
        }
    }
}

/// Gives a free bucket to the record that reached it, then that record's old bucket to the record
/// that reached the old bucket, and so on.
fn shift(
    reached: &[Option<usize>],
    candidates: &[Vec<usize>],
    holder: &mut [Option<usize>],
    mut bucket: usize,
) {
    while let Some(record) = reached[bucket] {
        // Looked up before the record gets `bucket`: afterwards it holds two, and the search would
        // find either.
        let left = candidates[record]
            .iter()
            .copied()
            .find(|&other| holder[other] == Some(record));

        holder[bucket] = Some(record);
        match left {
            Some(other) => bucket = other,
            // The record that asked held no bucket yet: the path ends at it.
            None => return,
        }
    }
}
