//! Lookups that wait for their answers.

use papir_core::Error as CoreError;

use super::asked::{Asked, Queries};
use crate::delta::Word;
use crate::error::Result;

/// Lookups that wait for their answers.
pub struct Pending {
    base: Asked,
    /// The same lookups in the delta, if there is one.
    delta: Option<Asked>,
    refusals: Vec<Option<CoreError>>,
    /// Bytes of a record that is looked up by index; `None` for a database with keys.
    indexed_bytes: Option<usize>,
    made: Queries,
}

/// Consecutive answers of one longest length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerLengths {
    /// Number of answers.
    pub count: usize,
    /// Length of the longest in bytes.
    pub longest: usize,
}

impl Pending {
    /// `refusals` has the error of each lookup that has one. The delta's queries follow the base's.
    pub(super) fn new(
        (base, mut made): (Asked, Queries),
        delta: Option<(Asked, Queries)>,
        refusals: Vec<Option<CoreError>>,
        indexed_bytes: Option<usize>,
    ) -> Self {
        let delta = delta.map(|(asked, more)| {
            made.queries.extend(more.queries);
            asked
        });
        Self {
            base,
            delta,
            refusals,
            indexed_bytes,
            made,
        }
    }

    /// The enveloped queries to send, in order. A retry may send them again; it needs no new ones.
    pub fn queries(&self) -> &[Vec<u8>] {
        &self.made.queries
    }

    /// The numbers of the tickets that the queries spend, one each; empty in schemes without
    /// tickets.
    pub fn tickets(&self) -> &[u64] {
        &self.made.tickets
    }

    /// Numbers and lengths of the answers, in the order of the queries: those of the base, then those of
    /// the delta.
    pub fn answers(&self) -> Vec<AnswerLengths> {
        let lengths = |asked: &Asked| AnswerLengths {
            count: asked.len(),
            longest: asked.answer_bytes(),
        };
        [Some(&self.base), self.delta.as_ref()]
            .into_iter()
            .flatten()
            .map(lengths)
            .collect()
    }

    /// Opens the enveloped answers to one lookup. `None` means that the key is absent.
    ///
    /// # Errors
    /// The errors of [`Pending::finish_all`].
    pub fn finish(self, answers: &[Vec<u8>]) -> Result<Option<Vec<u8>>> {
        Ok(self.finish_all(answers)?.into_iter().next().flatten())
    }

    /// Opens the enveloped answers, one per query in the same order. Returns the results in the
    /// order of the lookups; `None` means that the key is absent.
    ///
    /// All answers are opened before any error is returned, and nothing is sent from here: the
    /// traffic of a lookup does not reveal whether its answers decoded.
    ///
    /// # Errors
    /// [`CoreError::Length`] for more or fewer answers than queries, [`CoreError::NotDecodable`],
    /// [`CoreError::IndexOutOfRange`], [`crate::Error::NotCommitted`] for an invalid proof in a verifiable
    /// database, those of the envelope, or of [`crate::KeywordLayout::find`].
    pub fn finish_all(self, answers: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        CoreError::check_length(
            "a set of answers, counted",
            answers.len(),
            self.made.queries.len(),
        )?;
        let (of_base, of_delta) = answers.split_at(self.base.len());
        let base = self.base.open(of_base);
        let changed = self.delta.map(|delta| delta.open(of_delta)).transpose();
        let base = base?;
        let changed = changed?;
        let changed = changed.unwrap_or_else(|| base.iter().map(|_| Ok(None)).collect());
        let found: Vec<Result<Option<Vec<u8>>>> = base
            .into_iter()
            .zip(changed)
            .zip(self.refusals)
            .map(|((base, changed), refusal)| latest(base, changed, refusal, self.indexed_bytes))
            .collect();
        found.into_iter().collect()
    }
}

/// The result of a lookup: what the delta says, or else what the base has.
fn latest(
    base: Result<Option<Vec<u8>>>,
    changed: Result<Option<Vec<u8>>>,
    refusal: Option<CoreError>,
    indexed_bytes: Option<usize>,
) -> Result<Option<Vec<u8>>> {
    let base = base?;
    let changed = changed?.map(Word::decode).transpose()?;
    match (changed, refusal) {
        (Some(word), _) => {
            let value = word.value();
            if let Some(expected) = indexed_bytes {
                CoreError::check_length(
                    "a record of a delta",
                    value.as_ref().map_or(0, Vec::len),
                    expected,
                )?;
            }
            Ok(value)
        }
        (None, Some(refusal)) => Err(refusal.into()),
        (None, None) => Ok(base),
    }
}
