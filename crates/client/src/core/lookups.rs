//! Decodes the answers to a batch of lookups.

use papir_core::envelope;
use papir_lookup::Pending;

use crate::error::Result;

/// Lookups with the concatenated answers to their queries.
pub(crate) struct AnsweredLookups {
    pub(crate) pending: Pending,
    pub(crate) answers: Vec<u8>,
    /// Length of the longest answer in bytes.
    pub(crate) answer_bytes: usize,
}

impl AnsweredLookups {
    /// Decodes all answers.
    pub(crate) fn decode(self) -> Result<Vec<Option<Vec<u8>>>> {
        let answers = split(&self.answers, self.pending.queries().len(), self.answer_bytes)?;
        let answers: Vec<Vec<u8>> = answers.into_iter().map(<[u8]>::to_vec).collect();
        Ok(self.pending.finish_all(&answers)?)
    }
}

/// Splits a body into answers. Each has `each` bytes, or fewer if its query's key was sent ahead.
pub(super) fn split(answers: &[u8], queries: usize, each: usize) -> Result<Vec<&[u8]>> {
    let expected = queries.saturating_mul(each);
    if answers.len() < expected
        && let Some(parts) = envelope::split(answers)
        && parts.len() == queries
        && parts.iter().all(|part| part.len() <= each)
    {
        return Ok(parts);
    }
    papir_core::Error::check_length("the answers", answers.len(), expected)?;
    // `chunks` requires at least 1. No scheme has empty answers.
    Ok(answers.chunks(each.max(1)).collect())
}
