//! Sets of blocks, as text in paths.

use std::fmt;
use std::ops::Range;

use papir_core::{Error as CoreError, decimal};

use crate::error::Result;

/// Maximum number of ranges in a text.
pub const MAX_RANGES: usize = 256;

/// Characters of an invalid range that an error shows.
const SHOWN: usize = 48;

/// Some blocks of a bundle, as ascending ranges with gaps between them. Each set of at most
/// [`MAX_RANGES`] ranges has one text, as in `0,17-65,3583`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRanges {
    ranges: Vec<Range<usize>>,
}

impl BlockRanges {
    /// The blocks of these runs, which ascend and have gaps between them. If they are too many,
    /// those with the shortest gaps are joined, so that the blocks of these gaps are added.
    pub(super) fn joined(runs: Vec<Range<usize>>) -> Self {
        let mut gaps = Vec::new();
        for (place, pair) in runs.windows(2).enumerate() {
            gaps.push((pair[1].start - pair[0].end, place));
        }
        // By length, then by place: the same blocks are always joined in the same way, so that
        // clients with the same copy ask for the same name.
        gaps.sort_unstable();

        let excess = runs.len().saturating_sub(MAX_RANGES);
        let mut is_closed = vec![false; gaps.len()];
        for (_, place) in &gaps[..excess] {
            is_closed[*place] = true;
        }

        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (place, run) in runs.into_iter().enumerate() {
            match ranges.last_mut() {
                Some(before) if is_closed[place - 1] => before.end = run.end,
                _ => ranges.push(run),
            }
        }
        Self { ranges }
    }

    /// Parses the text of some blocks of a bundle that has `blocks` blocks.
    ///
    /// # Errors
    /// [`CoreError::Malformed`] for a text that is not that of any set: numbers with leading zeros,
    /// ranges that do not ascend or have no gap between them, more than [`MAX_RANGES`] of them,
    /// blocks beyond the last one, or no block at all.
    pub fn parse(text: &str, blocks: usize) -> Result<Self> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for part in text.split(',') {
            let least = ranges.last().map_or(0, |before| before.end + 1);
            let found = range(part).filter(|found| found.start >= least && found.end <= blocks);
            match found {
                Some(found) if ranges.len() < MAX_RANGES => ranges.push(found),
                _ => return Err(malformed(part, blocks).into()),
            }
        }
        Ok(Self { ranges })
    }

    /// Returns true for no blocks, which have no text.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The ranges, ascending.
    pub(super) fn as_slice(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// The indices of all blocks, ascending.
    pub(super) fn indices(&self) -> impl Iterator<Item = usize> {
        self.ranges.iter().cloned().flatten()
    }
}

/// The refusal of a part of a text.
fn malformed(part: &str, blocks: usize) -> CoreError {
    let shown: String = part.chars().take(SHOWN).collect();
    let last = blocks.saturating_sub(1);
    CoreError::malformed(
        "a set of blocks",
        format!("`{shown}`"),
        format!("at most {MAX_RANGES} ascending ranges of blocks 0 to {last}, as in `0,17-65`"),
    )
}

/// The range of a part of a text: `7`, or `7-9`.
fn range(part: &str) -> Option<Range<usize>> {
    let Some((first, last)) = part.split_once('-') else {
        let only = index(part)?;
        return Some(only..only.checked_add(1)?);
    };

    let first = index(first)?;
    let last = index(last)?;
    // One block has the text without a dash.
    (first < last).then_some(first..last.checked_add(1)?)
}

/// The index of a block.
fn index(text: &str) -> Option<usize> {
    usize::try_from(decimal(text)?).ok()
}

impl fmt::Display for BlockRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, Range { start, end }) in self.ranges.iter().enumerate() {
            if place > 0 {
                f.write_str(",")?;
            }
            match end - start {
                1 => write!(f, "{start}")?,
                _ => write!(f, "{start}-{}", end - 1)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_one_text() {
        for text in ["0", "3583", "0,17-65,3583", "0-3583", "1-2,4", "0,2,4"] {
            let ranges = BlockRanges::parse(text, 3584).unwrap();
            assert_eq!(ranges.to_string(), text);
        }

        for other in [
            "",
            ",",
            "0,",
            ",0",
            "0,,2",
            "00",
            "+1",
            "-1",
            "1-",
            "1-1",
            "2-1",
            "0,1",
            "0-1,2",
            "2,0",
            "0-2,1",
            "0, 2",
            "0;2",
            "1-2-3",
            "3584",
            "0-3584",
            "18446744073709551615",
            "0-18446744073709551615",
            "18446744073709551616",
        ] {
            let refused = BlockRanges::parse(other, 3584).unwrap_err();
            assert_eq!(refused.code(), "malformed", "{other:?}");
        }
    }

    #[test]
    fn a_text_has_a_greatest_number_of_ranges() {
        let text = |count: usize| {
            let indices: Vec<String> = (0..count).map(|index| (2 * index).to_string()).collect();
            indices.join(",")
        };
        assert!(BlockRanges::parse(&text(MAX_RANGES), 1000).is_ok());
        assert!(BlockRanges::parse(&text(MAX_RANGES + 1), 1000).is_err());
    }

    #[test]
    fn the_shortest_gaps_are_closed_first() {
        // Single blocks with gaps of nine, but two gaps of one and of four.
        let mut starts: Vec<usize> = (0..MAX_RANGES + 2).map(|index| 10 * index).collect();
        starts[6] = starts[5] + 2;
        starts[8] = starts[7] + 5;

        let runs = starts.iter().map(|start| *start..start + 1).collect();
        let ranges = BlockRanges::joined(runs);
        assert_eq!(ranges.as_slice().len(), MAX_RANGES);
        assert_eq!(ranges.as_slice()[5], 50..53);
        assert_eq!(ranges.as_slice()[6], 70..76);

        let blocks: Vec<usize> = ranges.indices().collect();
        assert!(starts.iter().all(|start| blocks.contains(start)));
        assert_eq!(blocks.len(), MAX_RANGES + 2 + 1 + 4);
    }

    #[test]
    fn no_blocks_have_no_text() {
        let none = BlockRanges::joined(Vec::new());
        assert!(none.is_empty());
        assert!(BlockRanges::parse(&none.to_string(), 10).is_err());
    }
}
