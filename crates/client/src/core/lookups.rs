//! Batches of lookups: made, answered, opened.

use papir_core::envelope;
use papir_core::erased::ErasedState;
use papir_lookup::{Lookup, Pending, Wanted};
use rand_core::CryptoRng;

use crate::error::Result;

/// Lookups whose queries are ready to be sent.
pub(crate) struct Asked {
    pub(crate) pending: Pending,
    /// For each lookup the refusal of an index that the current version does not have; record 0 was
    /// queried in its place.
    refusals: Vec<Option<papir_core::Error>>,
}

/// Lookups with the answers to their queries, back to back.
pub(crate) struct Answered {
    pub(crate) asked: Asked,
    pub(crate) answers: Vec<u8>,
    /// Longest answer, in bytes.
    pub(crate) answer_bytes: usize,
}

/// Makes the queries of some lookups.
///
/// An index out of range was refused before the lookup began. If the version changed since, the
/// server knows that something is wanted, and must not learn from silence that the index is beyond
/// the new end: record 0 is queried instead, and the refusal is kept for the caller.
pub(crate) fn ask(
    lookup: &Lookup,
    state: Option<&mut ErasedState>,
    wanted: &[Wanted<'_>],
    rng: &mut dyn CryptoRng,
) -> Result<Asked> {
    let refusals: Vec<_> = wanted.iter().map(|wanted| check_index(lookup, wanted).err()).collect();
    let queried: Vec<Wanted<'_>> = wanted
        .iter()
        .zip(&refusals)
        .map(|(wanted, refusal)| if refusal.is_some() { Wanted::Index(0) } else { *wanted })
        .collect();
    Ok(Asked { pending: lookup.prepare_batch(state, &queried, rng)?, refusals })
}

/// Refuses an index that a database of records does not have.
pub(crate) fn check_index(lookup: &Lookup, wanted: &Wanted<'_>) -> Result<(), papir_core::Error> {
    match wanted {
        Wanted::Index(index) if lookup.keyword().is_none() => lookup.describe().shape.check_index(*index),
        _ => Ok(()),
    }
}

impl Answered {
    /// Opens all answers.
    pub(crate) fn open(self) -> Vec<Result<Option<Vec<u8>>>> {
        let Asked { pending, refusals } = self.asked;
        let answers = match split(&self.answers, pending.queries().len(), self.answer_bytes) {
            Ok(answers) => answers.into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>(),
            Err(error) => return vec![Err(error)],
        };
        let found = match pending.finish_all(&answers) {
            Ok(found) => found,
            Err(error) => return vec![Err(error.into())],
        };
        let with_refusals = found.into_iter().zip(refusals);
        with_refusals.map(|(value, refusal)| refusal.map_or(Ok(value), |error| Err(error.into()))).collect()
    }
}

/// Cuts a body into answers: each of `each` bytes, or shorter if its query's ticket is held.
fn split(answers: &[u8], queries: usize, each: usize) -> Result<Vec<&[u8]>> {
    let expected = queries.saturating_mul(each);
    if answers.len() < expected
        && let Some(parts) = envelope::split(answers)
        && parts.len() == queries
        && parts.iter().all(|part| part.len() <= each)
    {
        return Ok(parts);
    }
    papir_core::Error::check_length("the answers", answers.len(), expected)?;
    // At least 1, as `chunks` demands; no scheme's answer is empty.
    Ok(answers.chunks(each.max(1)).collect())
}
