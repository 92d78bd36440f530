//! Queries as they are sent: in their envelopes, or as one short message.

use std::sync::Arc;

use papir_core::short::Binding;

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

    /// The concatenated answers in their envelopes, from a response to `count` queries.
    pub(crate) fn restore(&self, answers: Vec<u8>, count: usize) -> Result<Vec<u8>> {
        match &self.binding {
            Some(binding) => Ok(binding.restore_answers(&self.bytes, &answers, count)?),
            None => Ok(answers),
        }
    }
}
