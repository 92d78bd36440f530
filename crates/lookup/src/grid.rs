//! Geometry of a table: regions, buckets and pilots.

use papir_core::mix;

use crate::hash::KeyHash;

/// A table's geometry: `regions` regions of `buckets` buckets each, with `pilots` pilots per
/// region.
///
/// A key belongs to one region and, within it, to one pilot. Hash and pilot value together
/// determine the bucket. If buckets hold many entries, a region has one pilot. If they hold few, a
/// region has many pilots, each for a handful of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) regions: u32,
    pub(crate) buckets: u32,
    pub(crate) pilots: u32,
}

impl Grid {
    /// Number of buckets, which are the records of the database.
    pub(crate) fn records(&self) -> u64 {
        u64::from(self.regions) * u64::from(self.buckets)
    }

    /// Number of pilots of all regions.
    pub(crate) fn pilot_count(&self) -> u64 {
        u64::from(self.regions) * u64::from(self.pilots)
    }

    /// The region of a key.
    pub(crate) fn region(&self, pilot_hash: u64) -> u32 {
        scale(pilot_hash, self.regions)
    }

    /// The pilot of a key within its region. Uses the low bits, on which [`Grid::region`] hardly
    /// depends.
    pub(crate) fn pilot(&self, pilot_hash: u64) -> u32 {
        scale(pilot_hash << 32, self.pilots)
    }

    /// The index of a key's pilot among all pilots.
    pub(crate) fn pilot_slot(&self, hash: &KeyHash) -> u32 {
        self.region(hash.pilot_hash) * self.pilots + self.pilot(hash.pilot_hash)
    }

    /// The bucket of a key under its pilot value, as an index in the whole table.
    pub(crate) fn record(&self, hash: &KeyHash, pilot: u16) -> u64 {
        let region = self.region(hash.pilot_hash);
        u64::from(region) * u64::from(self.buckets)
            + u64::from(self.bucket(hash.bucket_hash, pilot))
    }

    /// The bucket of a key under a pilot value, as an index in its region.
    pub(crate) fn bucket(&self, bucket_hash: u64, pilot: u16) -> u32 {
        // The factor is odd, so no two pilots give the same word.
        let pilot_hash = u64::from(pilot).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        scale(mix(bucket_hash ^ pilot_hash), self.buckets)
    }
}

/// Maps a uniform 64-bit number to 0..count without a division.
fn scale(uniform: u64, count: u32) -> u32 {
    ((u128::from(uniform) * u128::from(count)) >> 64) as u32
}

#[cfg(test)]
mod tests {
    use papir_reference::vectors::rows;

    use super::*;

    const VECTORS: &str = include_str!("../../../docs/vectors/arithmetic/lookup.json");

    #[test]
    fn scaled_words_are_those_of_the_definition() {
        for [word, count, expected] in rows::<3>(VECTORS, "grid.scale") {
            let found = scale(word as u64, count as u32);
            assert_eq!(i128::from(found), expected, "{word} to {count}");
        }
    }

    #[test]
    fn buckets_are_in_range_and_evenly_used() {
        let grid = Grid {
            regions: 3,
            buckets: 5,
            pilots: 7,
        };
        let mut counts = [0u32; 3 * 5 * 7];
        for i in 0..105_000u64 {
            let pilot_hash = mix(2 * i);
            let bucket_hash = mix(2 * i + 1);
            let cell = (grid.region(pilot_hash) * 7 + grid.pilot(pilot_hash)) * 5
                + grid.bucket(bucket_hash, i as u16);
            counts[cell as usize] += 1;
        }

        // Mean 1000, standard deviation 32.
        assert!(
            counts.iter().all(|&n| (800..1200).contains(&n)),
            "{counts:?}"
        );
    }
}
