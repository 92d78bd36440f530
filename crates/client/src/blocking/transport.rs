//! Blocking transport, which runs tasks of the protocol core.

use std::io::Read;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ureq::{AsSendBody, Body, http};

use super::agent::{self, HttpAgent};
use crate::core::{
    Address, Failure, Oblivious, Request, Response, Step, StoreRequest, Stored, Task,
    check_no_demand,
};
use crate::error::{Result, TokenFailure};
use crate::state::ClientState;
use crate::transport::broken::SentRequest;
use crate::transport::call::{Call, CallRules};
use crate::transport::issuing::IssuerAccess;
use crate::transport::options::Options;
use crate::transport::relaying::relay_of;
use crate::transport::verifier::Presented;

/// Runs tasks over blocking HTTP. Clones are cheap and share connections.
#[derive(Clone)]
pub(super) struct Transport {
    pub(super) http: HttpAgent,
    /// The relay that carries all requests; `None` if they go to the service itself.
    relay: Option<Arc<Oblivious>>,
    /// The issuer of tokens; `None` if requests have none.
    issuer: Option<Arc<IssuerAccess<Transport>>>,
    /// The address that is connected to: the service's, or the relay's.
    peer: Address,
    state: ClientState,
    calls: CallRules,
}

impl IssuerAccess<Transport> {
    /// Fetches tokens on a thread at a later time, if few are left.
    fn refill_ahead(&self) {
        let Some(refill) = self.tokens.refill() else {
            return;
        };
        // Whatever the end of the calls is, and without reports: no call waits for it.
        let mut transport = self.transport.until(None);
        transport.calls.report_nothing();
        // After an error, a lookup without a token meets the same one, and reports it.
        self.refills
            .start(refill, move |task| drop(transport.run(task)));
    }
}

impl Transport {
    /// A transport to the service at `address`. Connects at the first request.
    pub(super) fn new(address: &Address, options: &Options) -> Result<Self> {
        Self::observed(address, options, Presented::default())
    }

    /// Like [`Transport::new`], and stores in `presented` the certificate that the service or the
    /// relay presents.
    pub(super) fn observed(
        address: &Address,
        options: &Options,
        presented: Presented,
    ) -> Result<Self> {
        let relay = relay_of(address, options)?;
        let peer = match &relay {
            Some(relay) => relay.relay().clone(),
            None => address.clone(),
        };

        Ok(Self {
            http: agent::observed(&peer, options, presented)?,
            relay,
            // Its own options name no issuer, so that this ends.
            issuer: IssuerAccess::of(address, options, Self::new)?,
            peer,
            state: options.client_state(),
            calls: CallRules::new(address, options),
        })
    }

    /// The address that is connected to: the service's, or the relay's.
    pub(super) fn peer(&self) -> &Address {
        &self.peer
    }

    /// The same transport, whose calls end at `end` in place of an earlier deadline.
    pub(super) fn until(&self, end: Option<Instant>) -> Self {
        let mut transport = self.clone();
        transport.calls.end_by(end);
        transport
    }

    /// The time at which a call that starts now ends; `None` without a limit.
    pub(super) fn end(&self) -> Option<Instant> {
        self.calls.start().end()
    }

    /// Runs a task until it is done, or until the time limit of the call.
    pub(super) fn run<T>(&self, task: Task<'_, Result<T>>) -> Result<T> {
        let call = self.calls.start();
        let mut step = task.start();

        loop {
            step = match step {
                Step::Send(request, then) => {
                    let response = self.send_with_token(request, &call);
                    call.note(&response)?;
                    then.resume(response)
                }
                Step::Wait(duration, then) => {
                    call.pause(duration)?;
                    sleep(duration);
                    then.resume()
                }
                Step::Store(request, then) => then.resume(self.store(request, &call)),
                Step::Done(output) => return output,
            };
        }
    }

    /// Sends a request, with a token of the issuer if the service demands one, and reads its
    /// response.
    fn send_with_token(&self, request: Request, call: &Call) -> Result<Response, Failure> {
        let Some(access) = &self.issuer else {
            let left = call.left().map_err(TokenFailure::of)?;
            let response = self.send(request, left)?;
            check_no_demand(self.calls.url(), &response)?;
            return Ok(response);
        };

        let mut paid = access.tokens.begin(&request);
        loop {
            let token = match paid.token() {
                Some(task) => {
                    let token = access.transport.clone().run_until(task, call);
                    access.refill_ahead();
                    paid.taken(token)?
                }
                None => None,
            };

            let left = call.left().map_err(TokenFailure::of)?;
            let response = self.send(paid.attempt(token), left)?;
            if paid.is_answered(&response)? {
                return Ok(response);
            }
        }
    }

    /// Runs a task within the time left for another call.
    fn run_until<T>(mut self, task: Task<'_, Result<T>>, call: &Call) -> Result<T> {
        self.calls.end_by(call.end());
        self.run(task)
    }

    /// Performs a request to the storage. A wait for a lock ends at the time limit of the call.
    fn store(&self, request: StoreRequest, call: &Call) -> Result<Stored> {
        if !request.action.takes_lock() {
            return self.state.perform(request);
        }
        match call.left()? {
            Some(left) => {
                let stored = self.state.perform_within(request, left)?;
                stored.ok_or_else(|| call.late())
            }
            None => self.state.perform(request),
        }
    }

    /// Sends a request and reads its response within the time left.
    pub(super) fn send(
        &self,
        request: Request,
        left: Option<Duration>,
    ) -> Result<Response, Failure> {
        if let Some(relay) = &self.relay {
            return self.send_sealed(relay, &request, left);
        }

        let mut builder = http::Request::builder()
            .method(request.method.name())
            .uri(self.peer.url(&request.path));
        for header in &request.headers {
            builder = builder.header(header.name, header.value.as_str());
        }

        let length = request.body.as_ref().map_or(0, |body| body.len());
        let sent = SentRequest::now(length);
        // An empty body and no body differ: only the former sends `content-length: 0`.
        let response = match &request.body {
            Some(body) => {
                let request = builder.body(body.as_slice());
                self.perform(request.map_err(ureq::Error::from)?, left)
            }
            None => self.perform(builder.body(()).map_err(ureq::Error::from)?, left),
        };
        let response = response.map_err(|error| sent.without_response(self.http.failure(error)))?;
        Ok(receive(&request, &sent, response))
    }

    /// Sends a request. The time left includes the resolution of the host's name and the response's
    /// body.
    pub(super) fn perform<S: AsSendBody>(
        &self,
        request: http::Request<S>,
        left: Option<Duration>,
    ) -> Result<http::Response<Body>, ureq::Error> {
        let agent = &self.http.agent;
        match left {
            Some(left) => {
                let request = agent.configure_request(request);
                agent.run(request.timeout_global(Some(left)).build())
            }
            None => agent.run(request),
        }
    }
}

/// Reads a response and the part of its body that the core requests.
fn receive(request: &Request, sent: &SentRequest, response: http::Response<Body>) -> Response {
    let (mut response, body) = head(response);
    if let Some(limit) = response.limit(request) {
        let mut bytes = Vec::new();
        let read = read_into(&mut bytes, body, limit);
        response.body = match read {
            Ok(()) => Ok(bytes),
            Err(error) => Err(sent.in_body(&response, bytes.len(), error.into())),
        };
    }
    response
}

/// Splits a response into one without a body, and the body.
pub(super) fn head(response: http::Response<Body>) -> (Response, Body) {
    let (head, body) = response.into_parts();
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (name.as_str(), value.to_str().ok()));
    (Response::of_head(head.status.as_u16(), headers), body)
}

/// Reads at most `limit` bytes of the body. The connection can be reused if the body ends within
/// them.
pub(super) fn read(body: Body, limit: u64) -> Result<Vec<u8>, ureq::Error> {
    let mut bytes = Vec::new();
    read_into(&mut bytes, body, limit)?;
    Ok(bytes)
}

/// Like [`read`], into `bytes`. After an error they have what arrived before it.
fn read_into(bytes: &mut Vec<u8>, body: Body, limit: u64) -> Result<(), ureq::Error> {
    body.into_reader().take(limit).read_to_end(bytes)?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::transport::locked::{LockedStorage, assert_timed_out, locking};

    #[test]
    fn a_lock_that_another_process_holds_is_not_waited_for() {
        let storage = Arc::new(LockedStorage::default());
        let address = Address::parse("http://127.0.0.1:1").unwrap();
        let transport = Transport::new(&address, &storage.options()).unwrap();

        assert_timed_out(&transport.run(locking()));
        storage.is_released_once_free();
        let patient = Transport::new(&address, &storage.patient()).unwrap();
        patient.run(locking()).unwrap();
    }
}
