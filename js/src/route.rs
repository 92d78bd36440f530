//! The way of requests: to the service itself, through a relay, or to the issuer of tokens.

use std::rc::Rc;
#[cfg(feature = "relay")]
use std::sync::Arc;

#[cfg(feature = "relay")]
use papir_client::core::Oblivious;
#[cfg(feature = "tokens")]
use papir_client::core::ServiceTokens;
use papir_client::core::{Address, Request, check_no_demand};

use crate::event::Event;
use crate::exchange::{Destination, Resumption, send};
#[cfg(feature = "relay")]
use crate::relayed::SealedExchange;

/// The way of all requests of a database, or of those to the issuer of its tokens.
#[derive(Clone)]
pub(crate) struct Route {
    /// The address of the service or of the issuer, for errors.
    url: Rc<str>,
    to: Destination,
    #[cfg(feature = "relay")]
    relay: Option<Arc<Oblivious>>,
    /// The tokens for the service; `None` if its requests have none.
    #[cfg(feature = "tokens")]
    tokens: Option<Arc<ServiceTokens>>,
}

impl Route {
    /// The way to the service at an address.
    pub(crate) fn of_service(service: &Address) -> Self {
        Self::direct(service, Destination::Service)
    }

    /// The way to the issuer of tokens.
    #[cfg(feature = "tokens")]
    pub(crate) fn of_issuer(tokens: &ServiceTokens) -> Self {
        Self::direct(tokens.issuer(), Destination::Issuer)
    }

    fn direct(address: &Address, to: Destination) -> Self {
        Self {
            url: address.base().into(),
            to,
            #[cfg(feature = "relay")]
            relay: None,
            #[cfg(feature = "tokens")]
            tokens: None,
        }
    }

    /// The same way, through a relay.
    #[cfg(feature = "relay")]
    pub(crate) fn through(self, relay: Oblivious) -> Self {
        Self {
            relay: Some(Arc::new(relay)),
            ..self
        }
    }

    /// The same way, for requests with these tokens.
    #[cfg(feature = "tokens")]
    pub(crate) fn paid_with(self, tokens: ServiceTokens) -> Self {
        Self {
            tokens: Some(Arc::new(tokens)),
            ..self
        }
    }

    /// The tokens for the service; `None` if its requests have none.
    #[cfg(feature = "tokens")]
    pub(crate) fn tokens(&self) -> Option<&Arc<ServiceTokens>> {
        self.tokens.as_ref()
    }

    /// Sends a request on this way, and uses its response or its failure by `then`.
    pub(crate) fn send(&self, request: Request, then: Resumption) -> Box<Event> {
        #[cfg(feature = "relay")]
        if let Some(relay) = &self.relay {
            return SealedExchange::new(Arc::clone(relay), request, then).start();
        }
        send(self.to, request, then)
    }

    /// Like [`Route::send`], without an issuer: a response that demands a token is a failure.
    pub(crate) fn send_unpaid(&self, request: Request, then: Resumption) -> Box<Event> {
        let url = Rc::clone(&self.url);
        let accepting: Resumption = Box::new(move |outcome| {
            let accepted = outcome.and_then(|response| {
                check_no_demand(&url, &response)?;
                Ok(response)
            });
            then(accepted)
        });

        self.send(request, accepting)
    }
}
