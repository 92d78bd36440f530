//! The way of requests: to the service itself, or through a relay.

#[cfg(feature = "relay")]
use std::sync::Arc;

#[cfg(feature = "relay")]
use papir_client::core::Oblivious;
use papir_client::core::Request;

use crate::event::Event;
use crate::exchange::{Resumption, send};
#[cfg(feature = "relay")]
use crate::relayed::SealedExchange;

/// The way of all requests of a database. The default is the service itself.
#[derive(Clone, Default)]
pub(crate) struct Route {
    #[cfg(feature = "relay")]
    relay: Option<Arc<Oblivious>>,
}

impl Route {
    /// The way through a relay.
    #[cfg(feature = "relay")]
    pub(crate) fn through(relay: Oblivious) -> Self {
        Self {
            relay: Some(Arc::new(relay)),
        }
    }

    /// Sends a request on this way, and uses its response or its failure by `then`.
    pub(crate) fn send(&self, request: Request, then: Resumption) -> Box<Event> {
        #[cfg(feature = "relay")]
        if let Some(relay) = &self.relay {
            return SealedExchange::new(Arc::clone(relay), request, then).start();
        }
        send(request, then)
    }
}
