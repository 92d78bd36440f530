//! Candidates: parameters among which the planner chooses.

use crate::cost::Rates;
use crate::scheme::Goal;
use crate::sizes::Description;
use crate::{Error, Result};

/// Parameters that a scheme offers for a shape, for the planner.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// A few words that distinguish this candidate from the scheme's others.
    pub label: String,
    /// The properties of these parameters.
    pub description: Description,
    /// The encoded parameters, for [`crate::erased::ErasedScheme::setup_resumable`].
    pub parameters: Vec<u8>,
}

impl Candidate {
    /// The candidate with this label, or the one whose label has the same words and the nearest
    /// numbers.
    ///
    /// A number may differ by at most the fraction `slack`: labels depend on the shape, and the
    /// shape of a keyed database depends on the distribution of its keys.
    ///
    /// # Errors
    /// [`Error::Parameters`], which lists all labels, if none is near enough.
    pub fn named(all: Vec<Self>, scheme: &'static str, label: &str, slack: f64) -> Result<Self> {
        let labels: Vec<String> = all.iter().map(|one| format!("`{}`", one.label)).collect();
        let nearest = all
            .into_iter()
            .filter_map(|one| Some((difference(&one.label, label)?, one)))
            .filter(|(difference, _)| *difference <= slack)
            .min_by(|a, b| a.0.total_cmp(&b.0));

        match nearest {
            Some((_, one)) => Ok(one),
            None => {
                let labels = labels.join(", ");
                let reason = format!("there are no `{label}` for this shape; there are {labels}");
                Err(Error::Parameters { scheme, reason })
            }
        }
    }

    /// Cost of a lookup under a goal, in seconds on a modest machine and a line of 10 Mbit/s.
    ///
    /// It is the transfer time for [`Goal::MinCommunication`], transfer time plus core seconds of
    /// the answer for [`Goal::Balanced`], and core seconds plus a thousandth of the transfer time
    /// for [`Goal::MinTime`]. Candidates of different shapes are comparable. A client downloads the
    /// public part and `once` further bytes only once, so a hundredth of them counts for each
    /// lookup.
    pub fn seconds(&self, goal: Goal, once: u64) -> f64 {
        const BYTE: f64 = 8.0 / 1e7;
        let sizes = &self.description.sizes;
        let line =
            BYTE * ((sizes.query + sizes.answer) as f64 + (sizes.public + once) as f64 / 100.0);
        // Not this machine's rates: the same options choose the same parameters everywhere.
        let work = self.description.work.answer.core_seconds(&Rates::BUILT_IN);

        match goal {
            Goal::MinCommunication => line,
            Goal::Balanced => line + work,
            Goal::MinTime => line / 1000.0 + work,
        }
    }
}

/// The largest relative difference between the numbers of two labels; `None` if their words differ.
fn difference(a: &str, b: &str) -> Option<f64> {
    // Other words are other parameters, however near their numbers are.
    let mine = numbers(a);
    let theirs = numbers(b);
    if words(a) != words(b) || mine.len() != theirs.len() {
        return None;
    }

    let shares = mine
        .iter()
        .zip(&theirs)
        .map(|(x, y)| (x - y).abs() / x.max(*y).max(1.0));
    Some(shares.fold(0.0, f64::max))
}

/// A label without its digits.
fn words(label: &str) -> String {
    label
        .split(|character: char| character.is_ascii_digit())
        .collect()
}

/// The numbers in a label.
fn numbers(label: &str) -> Vec<f64> {
    label
        .split(|character: char| !character.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn labels_differ_by_their_numbers() {
        assert_eq!(
            difference("t = 3, 5209 columns", "t = 3, 5209 columns"),
            Some(0.0)
        );
        assert_eq!(
            difference("t = 3, 1000 columns", "t = 3, 900 columns"),
            Some(0.1)
        );
        assert_eq!(
            difference("t = 3, 1000 columns", "t = 4, 1000 columns"),
            Some(0.25)
        );
        assert_eq!(difference("3 packs", "3 rows"), None);
        assert_eq!(difference("8 rows, transformed", "8 rows"), None);
        assert_eq!(difference("8 rows 9", "8 rows"), None);
        assert_eq!(difference("", ""), Some(0.0));
    }
}
