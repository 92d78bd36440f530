//! Division of one database among several machines.
//!
//! A prepared database is a sequence of *slices*. A [`Shard`](crate::scheme::Shard) has a range of
//! slices and answers each query with some words. From the words of all shards, in the order of
//! their slices, a [`Combiner`](crate::scheme::Combiner) makes the same answer, bit for bit, as
//! [`Server::answer_many`](crate::scheme::Server::answer_many). Every query goes to every shard.

use std::ops::Range;

use crate::cost::DividedWork;
use crate::{Error, Result};

/// A database on several machines: its slices, and the work of its answers.
#[derive(Clone, Debug, PartialEq)]
pub struct DividedDescription {
    /// The slices.
    pub division: Division,
    /// The work of an answer, divided.
    pub work: DividedWork,
}

/// The slices of a database and the words that they answer a query with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Number of words of all slices together.
    pub words: usize,
    /// Number of words of a slice; the last slice may have fewer.
    pub slice_words: usize,
    /// Bits of a word, at most 64.
    pub word_bits: u32,
}

impl Division {
    /// The [`Error::Parameters`] of a scheme whose databases have no slices.
    pub(crate) fn none(scheme: &'static str) -> Error {
        let reason =
            "its databases cannot be divided among machines: expected inspire, inspire2 or simple";
        Error::Parameters {
            scheme,
            reason: reason.to_owned(),
        }
    }

    /// The [`Error::Parameters`] of a scheme that prepares all slices together.
    pub(crate) fn prepared_together(scheme: &'static str) -> Error {
        let reason =
            "all of a database is prepared together: expected inspire for tasks that divide it";
        Error::Parameters {
            scheme,
            reason: reason.to_owned(),
        }
    }

    /// Number of slices.
    pub fn slices(&self) -> usize {
        self.words.div_ceil(self.slice_words)
    }

    /// The range of these slices' words among all words.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for an empty range, or one that ends beyond the last slice.
    pub fn words_of(&self, slices: &Range<usize>) -> Result<Range<usize>> {
        let all = self.slices();
        if slices.is_empty() || slices.end > all {
            let what = if slices.is_empty() {
                "the number of slices"
            } else {
                "the end of the slices"
            };
            let found = if slices.is_empty() { 0 } else { slices.end };
            return Err(Error::out_of_bounds(
                what,
                found as u64,
                format!("1 to {all}"),
            ));
        }

        // Only the last slice may be shorter.
        let [start, end] =
            [slices.start, slices.end].map(|slice| self.words.min(slice * self.slice_words));
        Ok(start..end)
    }

    /// Bytes of a word in a message.
    pub fn word_bytes(&self) -> usize {
        self.word_bits.div_ceil(8) as usize
    }

    /// Divides the slices among `shards` machines: ranges in order whose lengths differ by at most
    /// one.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for zero machines, or more machines than slices.
    pub fn split(&self, shards: usize) -> Result<Vec<Range<usize>>> {
        let slices = self.slices();
        if shards == 0 || shards > slices {
            let expected = format!("1 to {slices}, the number of slices of this database");
            return Err(Error::out_of_bounds(
                "the number of shards",
                shards as u64,
                expected,
            ));
        }

        // By rounding down both ends, neighbours share an end, and lengths differ by one at most.
        Ok((0..shards)
            .map(|i| i * slices / shards..(i + 1) * slices / shards)
            .collect())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_reference::vectors::rows;

    use super::*;

    const VECTORS: &str = include_str!("../../../docs/vectors/arithmetic/core.json");

    #[test]
    fn shards_and_words_are_those_of_the_definition() {
        for [words, each, shards, i, first, after, start, end] in rows::<8>(VECTORS, "division") {
            let division = Division {
                words: words as usize,
                slice_words: each as usize,
                word_bits: 64,
            };

            let shards = division.split(shards as usize).unwrap();
            let slices = first as usize..after as usize;
            assert_eq!(shards[i as usize], slices, "{division:?}");

            let found = division.words_of(&slices).unwrap();
            assert_eq!(found, start as usize..end as usize, "{division:?}");
        }
    }

    const DIVISION: Division = Division {
        words: 1000,
        slice_words: 64,
        word_bits: 56,
    };

    #[test]
    fn shards_take_all_slices_once_and_almost_equally_many() {
        assert_eq!(DIVISION.slices(), 16);

        for shards in 1..=16 {
            let ranges = DIVISION.split(shards).unwrap();
            assert_eq!(ranges.len(), shards);
            assert_eq!((ranges[0].start, ranges[shards - 1].end), (0, 16));
            assert!(
                ranges.windows(2).all(|pair| pair[0].end == pair[1].start),
                "{ranges:?}"
            );
            assert!(
                ranges
                    .iter()
                    .all(|range| (16 / shards..=16usize.div_ceil(shards)).contains(&range.len()))
            );
        }

        for shards in [0, 17] {
            let refused = DIVISION.split(shards).unwrap_err().to_string();
            assert!(
                refused.contains("1 to 16, the number of slices"),
                "{refused}"
            );
        }
    }

    #[test]
    fn words_follow_slices_to_the_shorter_last_one() {
        assert_eq!(DIVISION.words_of(&(0..16)).unwrap(), 0..1000);
        assert_eq!(DIVISION.words_of(&(1..3)).unwrap(), 64..192);
        assert_eq!(DIVISION.words_of(&(15..16)).unwrap(), 960..1000);
        for slices in [3..3, 0..17, 16..17] {
            assert_eq!(
                DIVISION.words_of(&slices).unwrap_err().code(),
                "out_of_bounds",
                "{slices:?}"
            );
        }
        assert_eq!(DIVISION.word_bytes(), 7);
    }
}
