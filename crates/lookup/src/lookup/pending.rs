//! Lookups that wait for their answers.

use papir_core::Error as CoreError;

use super::database::{DatabaseLookups, PreparedLookups, Queries};
use crate::delta::Word;
use crate::error::Result;

/// Lookups whose queries are made and whose answers are missing.
pub struct Pending {
    base: DatabaseLookups,
    /// Lookups of the same keys in the delta, or `None` without a delta.
    delta: Option<DatabaseLookups>,
    refusals: Vec<Option<CoreError>>,
    /// Length in bytes of a record that is looked up by index; `None` for a database with keys.
    indexed_bytes: Option<usize>,
    made: Queries,
}

/// Number and maximum length of the consecutive answers of one database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerLengths {
    /// Number of answers.
    pub count: usize,
    /// Length of the longest answer in bytes.
    pub longest: usize,
}

impl Pending {
    /// The lookups of base and delta. `refusals` has the error of each lookup, or `None`. The
    /// delta's queries follow the base's.
    pub(super) fn new(
        base: PreparedLookups,
        delta: Option<PreparedLookups>,
        refusals: Vec<Option<CoreError>>,
        indexed_bytes: Option<usize>,
    ) -> Self {
        let mut made = base.made;
        let delta = match delta {
            Some(delta) => {
                made.queries.extend(delta.made.queries);
                Some(delta.lookups)
            }
            None => None,
        };

        Self {
            base: base.lookups,
            delta,
            refusals,
            indexed_bytes,
            made,
        }
    }

    /// The enveloped queries to send, in order. A retry may send the same queries again.
    pub fn queries(&self) -> &[Vec<u8>] {
        &self.made.queries
    }

    /// The numbers of the tickets that the queries use, one each; empty in schemes without tickets.
    pub fn tickets(&self) -> &[u64] {
        &self.made.tickets
    }

    /// Numbers and lengths of the answers, in the order of the queries: first the base's, then the
    /// delta's.
    pub fn answers(&self) -> Vec<AnswerLengths> {
        let mut lengths = vec![answer_lengths(&self.base)];
        lengths.extend(self.delta.as_ref().map(answer_lengths));
        lengths
    }

    /// Decodes the enveloped answers to one lookup; `None` if the key is absent.
    ///
    /// # Errors
    /// The errors of [`Pending::finish_all`].
    pub fn finish(self, answers: &[Vec<u8>]) -> Result<Option<Vec<u8>>> {
        Ok(self.finish_all(answers)?.into_iter().next().flatten())
    }

    /// Decodes the enveloped answers, one per query in the same order. Returns the results in the
    /// order of the lookups, `None` for an absent key.
    ///
    /// Decodes all answers before it returns any error, and sends nothing: the traffic of a lookup
    /// does not reveal if its answers decode.
    ///
    /// # Errors
    /// [`CoreError::Length`] for more or fewer answers than queries, [`CoreError::NotDecodable`],
    /// [`CoreError::IndexOutOfRange`], [`crate::Error::NotCommitted`] for an invalid proof in a
    /// verifiable database, or the errors of the envelope or of [`crate::KeywordLayout::find`].
    pub fn finish_all(self, answers: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.finish_each(answers)?.into_iter().collect()
    }

    /// Like [`Pending::finish_all`], with an outcome for each lookup. An index out of range, an
    /// invalid proof and a malformed record fail their own lookups only.
    ///
    /// # Errors
    /// [`CoreError::Length`] for more or fewer answers than queries, [`CoreError::NotDecodable`],
    /// or the errors of the envelope.
    pub fn finish_each(self, answers: &[Vec<u8>]) -> Result<Vec<Result<Option<Vec<u8>>>>> {
        CoreError::check_length(
            "a set of answers, counted",
            answers.len(),
            self.made.queries.len(),
        )?;

        // Both are opened before an error of either returns, so that no answer is left unopened.
        let (of_base, of_delta) = answers.split_at(self.base.len());
        let base = self.base.open(of_base);
        let changed = self.delta.map(|delta| delta.open(of_delta));
        let base = base?;
        let changed = match changed {
            Some(opened) => opened?,
            None => base.iter().map(|_| Ok(None)).collect(),
        };

        let mut found = Vec::with_capacity(base.len());
        for ((base, changed), refusal) in base.into_iter().zip(changed).zip(self.refusals) {
            found.push(latest(base, changed, refusal, self.indexed_bytes));
        }
        Ok(found)
    }
}

/// Number and maximum length of the answers to lookups in one database.
fn answer_lengths(lookups: &DatabaseLookups) -> AnswerLengths {
    AnswerLengths {
        count: lookups.len(),
        longest: lookups.answer_bytes(),
    }
}

/// The result of a lookup: the delta's change if there is one, else the base's value or the
/// refusal.
fn latest(
    base: Result<Option<Vec<u8>>>,
    changed: Result<Option<Vec<u8>>>,
    refusal: Option<CoreError>,
    indexed_bytes: Option<usize>,
) -> Result<Option<Vec<u8>>> {
    let base = base?;
    // The base may lack a record that the delta has, so a refusal counts only without a change.
    let Some(word) = changed? else {
        return match refusal {
            Some(refusal) => Err(refusal.into()),
            None => Ok(base),
        };
    };

    let value = Word::decode(word)?.value();
    if let Some(expected) = indexed_bytes {
        // Records are not deleted: a deletion has no bytes, and is refused like a wrong length.
        let found = value.as_ref().map_or(0, Vec::len);
        CoreError::check_length("a record of a delta", found, expected)?;
    }
    Ok(value)
}
