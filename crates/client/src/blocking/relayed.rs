//! Requests through a relay of Oblivious HTTP.

use std::future::Future;
use std::io::{self, Read};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures_util::io::AsyncRead;
use papir_ohttp::ChosenKey;
use papir_protocol::{header, media};
use ureq::{AsSendBody, Body, http};

use super::transport::{Transport, head, read};
use crate::core::{Failure, Oblivious, Relayed, Request, Response};
use crate::transport::relaying::Interruption;

impl Transport {
    /// Sends a request through the relay, and opens its response, within the time left. If the
    /// gateway does not have the key, its keys are fetched again, once.
    pub(super) fn send_sealed(
        &self,
        relay: &Oblivious,
        request: &Request,
        left: Option<Duration>,
    ) -> Result<Response, Failure> {
        let end = left.and_then(|left| Instant::now().checked_add(left));
        let mut key = match relay.key(request) {
            Some(key) => key,
            None => self.fetch_keys(relay, request, end)?,
        };

        let mut may_fetch = relay.fetches_keys();
        loop {
            match self.exchange(relay, &key, request, end)? {
                Relayed::Opened(response) => return Ok(response),
                Relayed::UnknownKey if may_fetch => key = self.fetch_keys(relay, request, end)?,
                Relayed::UnknownKey => return Err(relay.unknown_key()),
            }
            may_fetch = false;
        }
    }

    /// Fetches the gateway's keys through the relay, and chooses the one for a request.
    fn fetch_keys(
        &self,
        relay: &Oblivious,
        request: &Request,
        end: Option<Instant>,
    ) -> Result<ChosenKey, Failure> {
        let get = http::Request::get(relay.resource()).body(());
        let (head, body) = self.perform_until(relay, get, end)?;
        relay.accept_keys(self.plain(head, body), request)
    }

    /// Seals and sends a request once.
    fn exchange(
        &self,
        relay: &Oblivious,
        key: &ChosenKey,
        request: &Request,
        end: Option<Instant>,
    ) -> Result<Relayed, Failure> {
        let sealed = relay.seal(key, request)?;
        let post = http::Request::post(relay.resource())
            .header(header::CONTENT_TYPE, media::OHTTP_CHUNKED_REQUEST)
            .body(sealed.body.as_slice());
        let (head, body) = self.perform_until(relay, post, end)?;
        if !Oblivious::is_sealed(&head) {
            return relay.refusal(&self.plain(head, body));
        }

        let interruption = Interruption::default();
        let reader = Blocking {
            reader: body.into_reader(),
            interruption: interruption.clone(),
        };
        let opened = run(relay.open(sealed.opener, reader, request));
        match (opened, interruption.take()) {
            (Ok(response), _) => Ok(Relayed::Opened(response)),
            (Err(_), Some(broken)) => {
                let failure = self.http.failure(ureq::Error::from(broken));
                Err(relay.lost(failure))
            }
            (Err(failure), None) => Err(failure),
        }
    }

    /// Sends a request to the relay, and returns the head and the body of its response.
    fn perform_until<S: AsSendBody>(
        &self,
        relay: &Oblivious,
        request: http::Result<http::Request<S>>,
        end: Option<Instant>,
    ) -> Result<(Response, Body), Failure> {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let performed = request
            .map_err(ureq::Error::from)
            .and_then(|request| self.perform(request, left));
        let response = performed.map_err(|error| relay.lost(self.http.failure(error)))?;
        Ok(head(response))
    }

    /// The response with its body, which is not sealed.
    fn plain(&self, head: Response, body: Body) -> Response {
        let body = read(body, Oblivious::PLAIN_BYTES).map_err(|error| self.http.failure(error));
        Response { body, ..head }
    }
}

/// A reader that is always ready, since it blocks.
struct Blocking<R> {
    reader: R,
    interruption: Interruption<io::Error>,
}

impl<R: Read + Unpin> AsyncRead for Blocking<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.reader.read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(self.interruption.note(error))),
                Ok(count) => return Poll::Ready(Ok(count)),
            }
        }
    }
}

/// Runs a future whose input blocks, and never waits.
fn run<T>(future: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}
