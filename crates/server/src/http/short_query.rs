//! Short queries of registered clients, with and without envelopes.

use papir_core::short::Binding;

use super::problem::Problem;
use crate::catalog::{BoundQueries, Candidates};
use crate::clients::{ClientError, Credentials};
use crate::service::Answered;

/// The queries of a request's body.
pub(super) struct ReceivedQueries {
    /// Concatenated queries in their envelopes.
    pub(super) queries: Vec<u8>,
    /// The short message that they came in; `None` if they came in their envelopes.
    pub(super) short: Option<ShortQuery>,
}

/// A short message, to which the answers are bound.
pub(super) struct ShortQuery {
    binding: Binding,
    message: Vec<u8>,
}

impl ShortQuery {
    /// Puts the queries of a short message into envelopes of the version that it is bound to.
    pub(super) fn restore(
        candidates: &Candidates,
        credentials: &Credentials,
        message: Vec<u8>,
    ) -> Result<ReceivedQueries, Problem> {
        let client = credentials.client.ok_or(ClientError::NoClient)?;
        let BoundQueries { binding, queries } =
            candidates.restore(&client.to_string(), &message)?;

        Ok(ReceivedQueries {
            queries,
            short: Some(Self { binding, message }),
        })
    }

    /// Makes the short message of enveloped answers.
    pub(super) fn answered(&self, answered: Answered) -> Result<Answered, Problem> {
        let Answered { bytes, memory } = answered;
        let bytes = self.binding.shorten_answers(&self.message, &bytes);

        // The service itself has made the answers.
        Ok(Answered {
            bytes: bytes.map_err(|_| Problem::Internal)?,
            memory,
        })
    }
}
