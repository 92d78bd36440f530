//! Queries as they are sent: in their envelopes, or as one short message.

use std::sync::Arc;

use papir_core::Error as CoreError;
use papir_core::envelope;
use papir_core::short::{Binding, OVERHEAD};
use papir_lookup::AnswerLengths;

use super::lookups::longest;
use crate::error::Result;

/// The body of a query request.
pub(crate) struct Outgoing {
    pub(crate) bytes: Arc<Vec<u8>>,
    /// The binding of a short message; `None` if the queries are in their envelopes.
    binding: Option<Binding>,
}

impl Outgoing {
    /// The queries in their envelopes or, with the id of a registered client, as a short message.
    pub(crate) fn new(queries: &[Vec<u8>], client: Option<&str>) -> Result<Self> {
        let (Some(client), Some(first)) = (client, queries.first()) else {
            return Ok(Self {
                bytes: Arc::new(queries.concat()),
                binding: None,
            });
        };

        let binding = Binding::of_query(client, first)?;
        Ok(Self {
            bytes: Arc::new(binding.shorten_queries(queries)?),
            binding: Some(binding),
        })
    }

    /// Returns true for a short message.
    pub(crate) fn is_short(&self) -> bool {
        self.binding.is_some()
    }

    /// The concatenated answers in their envelopes, from a response with answers of these lengths.
    ///
    /// # Errors
    /// [`CoreError::Length`] for a short message of another length; [`CoreError::Malformed`] for
    /// one with the tag of another client, version, query or content.
    pub(crate) fn restore(&self, answers: Vec<u8>, lengths: &[AnswerLengths]) -> Result<Vec<u8>> {
        let Some(binding) = &self.binding else {
            return Ok(answers);
        };

        // First, although such a message has no right tag either: a length tells more.
        CoreError::check_length("a short answer", answers.len(), short_bytes(lengths))?;
        Ok(binding.restore_answers(&self.bytes, &answers, count(lengths))?)
    }
}

/// Length in bytes of the short message with answers of these lengths.
pub(crate) fn short_bytes(lengths: &[AnswerLengths]) -> usize {
    let envelopes = count(lengths) * envelope::OVERHEAD;
    (longest(lengths) as usize).saturating_sub(envelopes) + OVERHEAD
}

/// The number of answers.
fn count(lengths: &[AnswerLengths]) -> usize {
    lengths.iter().map(|of| of.count).sum()
}
