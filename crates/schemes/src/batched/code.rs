//! The batch code: places of each record's copies.

use papir_ring::prg::Seed;
use zeroize::DefaultIsZeroes;

use super::permutation::Permutation;

/// Number of buckets: `functions` groups of `width`, with a copy of every record in each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Buckets {
    /// w: copies of a record.
    pub(super) functions: usize,
    /// g: buckets of a group.
    pub(super) width: usize,
}

impl Buckets {
    /// Number of buckets, w·g.
    pub(super) const fn count(self) -> usize {
        self.functions * self.width
    }

    /// Records of one bucket, ⌈N/g⌉. In some buckets the last place is empty.
    pub(super) const fn records(self, records: u64) -> u64 {
        records.div_ceil(self.width as u64)
    }
}

/// One copy of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) bucket: usize,
    /// Position in the bucket.
    pub(super) position: u64,
}

impl DefaultIsZeroes for Place {}

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
        let permutation = |number| Permutation::new(seed, number, records);
        Self { records, buckets, permutations: (0..buckets.functions).map(permutation).collect() }
    }

    /// Places of a record's copies, group by group. Variable in time.
    pub(super) fn places_vartime(&self, index: u64) -> impl Iterator<Item = Place> {
        let width = self.buckets.width as u64;
        self.permutations.iter().enumerate().map(move |(group, permutation)| {
            let image = permutation.forward(index);
            let bucket = group * self.buckets.width + (image % width) as usize;
            Place { bucket, position: image / width }
        })
    }

    /// The record whose copy is at a place; `None` at the end of some buckets.
    pub(super) fn record_at(&self, place: Place) -> Option<u64> {
        let (group, rest) = (place.bucket / self.buckets.width, place.bucket % self.buckets.width);
        let image = place.position * self.buckets.width as u64 + rest as u64;
        (image < self.records).then(|| self.permutations[group].inverse(image))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_a_copy_of_the_record_that_finds_it() {
        for (records, functions, width) in [(1, 1, 1), (1, 2, 3), (100, 3, 7), (1000, 4, 8), (5, 4, 8)] {
            let buckets = Buckets { functions, width };
            let code = Code::new(records, buckets, &Seed([3; 32]));
            let mut copies = 0;
            for bucket in 0..buckets.count() {
                for position in 0..buckets.records(records) {
                    let place = Place { bucket, position };
                    let Some(record) = code.record_at(place) else { continue };
                    copies += 1;
                    assert!(code.places_vartime(record).any(|found| found == place));
                }
            }
            assert_eq!(copies, records * functions as u64);
        }
    }

    #[test]
    fn copies_of_a_record_are_in_different_groups() {
        let code = Code::new(1000, Buckets { functions: 4, width: 8 }, &Seed([5; 32]));
        for index in 0..1000 {
            let groups: Vec<_> = code.places_vartime(index).map(|place| place.bucket / 8).collect();
            assert_eq!(groups, [0, 1, 2, 3]);
        }
    }
}
