//! Requests that are sealed for the service's gateway, and go through a relay.

use std::sync::Arc;

use papir_client::core::{Failure, Oblivious, Relayed, Request};
use papir_ohttp::{ChosenKey, Opener, SealedRequest};

use crate::event::{Body, Event, Head, Reply};
use crate::exchange::{Resumption, SendHead, response};
use crate::paused::{Paused, waiting};

/// The header with the media type of a body.
const CONTENT_TYPE: &str = "content-type";

/// A request through a relay, with the use of its response.
pub(crate) struct SealedExchange {
    relay: Arc<Oblivious>,
    request: Request,
    then: Resumption,
    /// Set if keys may be fetched again, for a gateway that does not have the key.
    may_fetch: bool,
}

impl SealedExchange {
    /// An exchange that has not started.
    pub(crate) fn new(relay: Arc<Oblivious>, request: Request, then: Resumption) -> Self {
        Self {
            may_fetch: relay.fetches_keys(),
            relay,
            request,
            then,
        }
    }

    /// Posts the sealed request, or fetches the gateway's keys first.
    pub(crate) fn start(self) -> Box<Event> {
        match self.relay.key(&self.request) {
            Some(key) => self.post(&key),
            None => self.fetch_keys(),
        }
    }

    fn fetch_keys(self) -> Box<Event> {
        let head = Head::from(&SendHead::new("GET", self.relay.path(), Vec::new()));
        waiting(head, Body::None, Box::new(AwaitedKeys(self)))
    }

    fn post(self, key: &ChosenKey) -> Box<Event> {
        let SealedRequest { body, opener } = match self.relay.seal(key, &self.request) {
            Ok(sealed) => sealed,
            Err(failure) => return (self.then)(Err(failure)),
        };

        let headers = vec![(CONTENT_TYPE, Oblivious::REQUEST_TYPE)];
        let head = Head::from(&SendHead::new("POST", self.relay.path(), headers));
        let awaited = AwaitedResponse {
            exchange: self,
            opener,
        };
        waiting(head, Body::Own(body.into()), Box::new(awaited))
    }

    /// The outcome of a sealed request.
    fn outcome(&self, opener: Opener, reply: Reply) -> Result<Relayed, Failure> {
        let received = response(reply).map_err(|failure| self.relay.lost(failure))?;
        if !Oblivious::is_sealed(&received) {
            return self.relay.refusal(&received);
        }

        let sealed = received.body.map_err(|failure| self.relay.lost(failure))?;
        let opened = self.relay.open_whole(opener, sealed, &self.request)?;
        Ok(Relayed::Opened(opened))
    }
}

/// An exchange that waits for the gateway's keys.
struct AwaitedKeys(SealedExchange);

impl Paused for AwaitedKeys {
    fn body_limit(&self, _status: u16, _version: Option<&str>) -> Option<u64> {
        Some(Oblivious::PLAIN_BYTES)
    }

    fn resume(self: Box<Self>, reply: Reply) -> Box<Event> {
        let Self(exchange) = *self;
        let relay = &exchange.relay;
        let accepted = match response(reply) {
            Ok(received) => relay.accept_keys(received, &exchange.request),
            Err(failure) => Err(relay.lost(failure)),
        };

        match accepted {
            Ok(key) => exchange.post(&key),
            Err(failure) => (exchange.then)(Err(failure)),
        }
    }
}

/// An exchange that waits for the sealed response.
struct AwaitedResponse {
    exchange: SealedExchange,
    opener: Opener,
}

impl Paused for AwaitedResponse {
    fn body_limit(&self, status: u16, _version: Option<&str>) -> Option<u64> {
        Some(match status {
            200 => Oblivious::sealed_limit(&self.exchange.request),
            _ => Oblivious::PLAIN_BYTES,
        })
    }

    fn resume(self: Box<Self>, reply: Reply) -> Box<Event> {
        let Self { exchange, opener } = *self;

        match exchange.outcome(opener, reply) {
            Ok(Relayed::Opened(response)) => (exchange.then)(Ok(response)),
            Ok(Relayed::UnknownKey) if exchange.may_fetch => {
                let again = SealedExchange {
                    may_fetch: false,
                    ..exchange
                };
                again.fetch_keys()
            }
            Ok(Relayed::UnknownKey) => {
                let failure = exchange.relay.unknown_key();
                (exchange.then)(Err(failure))
            }
            Err(failure) => (exchange.then)(Err(failure)),
        }
    }
}
