//! Batches of lookups: makes their queries and decodes their answers.

use papir_core::envelope;
use papir_core::erased::ErasedState;
use papir_lookup::{Lookup, Pending, Wanted};
use rand_core::CryptoRng;

use crate::error::Result;

/// Lookups whose queries are ready to be sent.
pub(crate) struct PendingLookups {
    pub(crate) pending: Pending,
    /// For each lookup, the error if the current version does not have its index. Record 0 is then
    /// queried instead.
    refusals: Vec<Option<papir_core::Error>>,
}

/// Lookups with the concatenated answers to their queries.
pub(crate) struct AnsweredLookups {
    pub(crate) pending: PendingLookups,
    pub(crate) answers: Vec<u8>,
    /// Length of the longest answer in bytes.
    pub(crate) answer_bytes: usize,
}

/// Makes the queries of some lookups.
///
/// The caller has already checked the indices against the version it knew. If the database has
/// become shorter since, an index may now be out of range. The server already expects a query, so
/// sending none would reveal that. Record 0 is queried instead, and the caller gets the error.
pub(crate) fn make_queries(
    lookup: &Lookup,
    state: Option<&mut ErasedState>,
    wanted: &[Wanted<'_>],
    rng: &mut dyn CryptoRng,
) -> Result<PendingLookups> {
    let refusals: Vec<_> = wanted.iter().map(|wanted| check_index(lookup, wanted).err()).collect();
    let queried: Vec<Wanted<'_>> = wanted
        .iter()
        .zip(&refusals)
        .map(|(wanted, refusal)| if refusal.is_some() { Wanted::Index(0) } else { *wanted })
        .collect();
    Ok(PendingLookups { pending: lookup.prepare_batch(state, &queried, rng)?, refusals })
}

/// Refuses an index that is out of range. Keys, and indices into a keyed database, are not checked.
pub(crate) fn check_index(lookup: &Lookup, wanted: &Wanted<'_>) -> Result<(), papir_core::Error> {
    match wanted {
        Wanted::Index(index) if lookup.keyword().is_none() => lookup.describe().shape.check_index(*index),
        _ => Ok(()),
    }
}

impl AnsweredLookups {
    /// Decodes all answers.
    pub(crate) fn decode(self) -> Vec<Result<Option<Vec<u8>>>> {
        let PendingLookups { pending, refusals } = self.pending;
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

/// Splits a body into answers. Each has `each` bytes, or fewer if the client holds its query's
/// ticket.
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
    // `chunks` requires at least 1. No scheme has empty answers.
    Ok(answers.chunks(each.max(1)).collect())
}
