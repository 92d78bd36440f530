//! Queries and answers of registered clients without envelopes.

use papir_client::core::Failure;
use papir_core::envelope;
use papir_core::erased::scheme_of_public;
use papir_core::short::Binding;
use papir_protocol::{header, media};

use super::{Call, Offer, Peer};

impl Peer {
    /// Returns true if clients may send short messages to the newest version.
    pub(super) fn takes_short_messages(&self) -> bool {
        let limits = self.newest().server.describe().limits;
        self.allows_short && limits.client_keys && !limits.tickets && self.delta.is_none()
    }
}

impl Offer {
    /// The queries of a request in their envelopes.
    pub(super) fn enveloped(&self, call: &Call) -> Result<Vec<u8>, Failure> {
        let Some(binding) = self.binding(call)? else {
            return Ok(call.body.clone());
        };

        let enveloped = self.server.describe().sizes.query as usize;
        let payload = enveloped - envelope::OVERHEAD;
        Ok(binding.restore_queries(&call.body, payload)?)
    }

    /// The enveloped answers to a request in the form in which they are sent.
    pub(super) fn as_sent(&self, call: &Call, answers: Vec<u8>) -> Result<Vec<u8>, Failure> {
        match self.binding(call)? {
            Some(binding) => Ok(binding.shorten_answers(&call.body, &answers)?),
            None => Ok(answers),
        }
    }

    /// The binding of a short message to this version; `None` for queries in their envelopes.
    fn binding(&self, call: &Call) -> Result<Option<Binding>, Failure> {
        if call.header(header::CONTENT_TYPE) != Some(media::SHORT) {
            return Ok(None);
        }

        let client = call.header(header::CLIENT).ok_or("no client is named")?;
        let scheme = scheme_of_public(&self.server.public())?;
        let binding = Binding::new(client, scheme, self.server.version());
        Ok(Some(binding))
    }
}
