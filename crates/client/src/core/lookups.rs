//! Decoding of batches of answers.

use papir_core::envelope;
use papir_lookup::{AnswerLengths, Pending};

use crate::error::{Error, Result};

/// The outcome of one lookup: its value, `None` for an absent key.
pub type FoundValue = Result<Option<Vec<u8>>>;

/// Lookups with the concatenated answers to their queries.
pub(crate) struct AnsweredLookups {
    pub(crate) pending: Pending,
    pub(crate) answers: Vec<u8>,
}

impl AnsweredLookups {
    /// Decodes all answers. Returns the outcome of each lookup.
    pub(crate) fn decode(self) -> Result<Vec<FoundValue>> {
        let answers = split(&self.answers, &self.pending.answers())?;
        let answers: Vec<Vec<u8>> = answers.into_iter().map(<[u8]>::to_vec).collect();
        let found = self.pending.finish_each(&answers)?;
        Ok(found
            .into_iter()
            .map(|value| value.map_err(Error::from))
            .collect())
    }
}

/// Length in bytes of the longest body with these answers.
pub(super) fn longest(lengths: &[AnswerLengths]) -> u64 {
    lengths
        .iter()
        .map(|of| (of.count as u64).saturating_mul(of.longest as u64))
        .fold(0, u64::saturating_add)
}

/// Splits a body into answers. An answer has the longest length of its kind, or fewer bytes if its
/// query's key was sent ahead.
pub(super) fn split<'a>(answers: &'a [u8], lengths: &[AnswerLengths]) -> Result<Vec<&'a [u8]>> {
    let each: Vec<usize> = lengths
        .iter()
        .flat_map(|of| std::iter::repeat_n(of.longest, of.count))
        .collect();
    let expected = longest(lengths) as usize;

    // Shorter answers carry their own lengths, in envelopes.
    if answers.len() < expected
        && let Some(parts) = envelope::split(answers)
        && are_within(&parts, &each)
    {
        return Ok(parts);
    }

    papir_core::Error::check_length("the answers", answers.len(), expected)?;
    let mut rest = answers;
    Ok(each
        .iter()
        .filter_map(|each| rest.split_off(..*each))
        .collect())
}

/// Returns true if there is one part for each longest length, and no part exceeds its length.
fn are_within(parts: &[&[u8]], longest: &[usize]) -> bool {
    parts.len() == longest.len()
        && parts
            .iter()
            .zip(longest)
            .all(|(part, longest)| part.len() <= *longest)
}
