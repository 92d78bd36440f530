//! Requests through a relay of Oblivious HTTP.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::io::AsyncRead;
use futures_util::stream::{StreamExt, TryStreamExt, try_unfold};
use papir_ohttp::ChosenKey;
use papir_protocol::media;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Url};
use tokio::time::timeout;

use super::failures::{failure, timed_out};
use super::threads::unblocked;
use super::transport::{Transport, head, response_timeout};
use crate::core::{Failure, Oblivious, Relayed, Request, Response};
use crate::transport::READ_TIMEOUT;
use crate::transport::relaying::Interruption;

impl Transport {
    /// Sends a request through the relay, and opens its response. If the gateway does not have the
    /// key, its keys are fetched again, once.
    pub(super) async fn send_sealed(
        &self,
        relay: &Arc<Oblivious>,
        request: &Request,
    ) -> Result<Response, Failure> {
        let mut key = match relay.key(request) {
            Some(key) => key,
            None => self.fetch_keys(relay, request).await?,
        };

        let mut may_fetch = relay.fetches_keys();
        loop {
            match self.exchange(relay, key, request).await? {
                Relayed::Opened(response) => return Ok(response),
                Relayed::UnknownKey if may_fetch => key = self.fetch_keys(relay, request).await?,
                Relayed::UnknownKey => return Err(relay.unknown_key()),
            }
            may_fetch = false;
        }
    }

    /// Fetches the gateway's keys through the relay, and chooses the one for a request.
    async fn fetch_keys(&self, relay: &Oblivious, request: &Request) -> Result<ChosenKey, Failure> {
        let get = reqwest::Request::new(Method::GET, Url::parse(relay.resource())?);
        let received = self.reach(relay, get, READ_TIMEOUT).await?;
        let response = self.plain(received).await;
        relay.accept_keys(response, request)
    }

    /// Seals and sends a request once.
    async fn exchange(
        &self,
        relay: &Arc<Oblivious>,
        key: ChosenKey,
        request: &Request,
    ) -> Result<Relayed, Failure> {
        // Off this thread: keys have megabytes.
        let sealer = Arc::clone(relay);
        let message = request.clone();
        let sealed = unblocked(move || sealer.seal(&key, &message)).await?;

        let mut post = reqwest::Request::new(Method::POST, Url::parse(relay.resource())?);
        let media = HeaderValue::from_static(media::OHTTP_CHUNKED_REQUEST);
        post.headers_mut().insert(CONTENT_TYPE, media);
        let time = response_timeout(sealed.body.len() as u64);
        *post.body_mut() = Some(sealed.body.into());

        let received = self.reach(relay, post, time).await?;
        if !Oblivious::is_sealed(&head(&received)) {
            return relay.refusal(&self.plain(received).await);
        }

        let interruption = Interruption::default();
        let reader = reader(received, Arc::clone(&self.base), interruption.clone());
        let opened = relay.open(sealed.opener, reader, request).await;
        match (opened, interruption.take()) {
            (Ok(response), _) => Ok(Relayed::Opened(response)),
            (Err(_), Some(broken)) => Err(relay.lost(self.explain(broken))),
            (Err(failure), None) => Err(failure),
        }
    }

    /// Sends a request to the relay, and returns its response without the body.
    async fn reach(
        &self,
        relay: &Oblivious,
        request: reqwest::Request,
        time: Duration,
    ) -> Result<reqwest::Response, Failure> {
        let sent = self.execute(request, time).await;
        sent.map_err(|failure| relay.lost(failure))
    }

    /// The response with its body, which is not sealed.
    async fn plain(&self, received: reqwest::Response) -> Response {
        let head = head(&received);
        let body = self.read(received, Oblivious::PLAIN_BYTES).await;
        Response { body, ..head }
    }
}

/// The body of a response as a reader, which stores the failure that interrupts it. `base` is the
/// relay's address.
fn reader(
    received: reqwest::Response,
    base: Arc<str>,
    interruption: Interruption<Failure>,
) -> impl AsyncRead + Send + 'static {
    let parts = try_unfold(received, move |mut received| {
        let base = Arc::clone(&base);
        let interruption = interruption.clone();
        async move {
            let part = next_part(&mut received, &base).await;
            match part {
                Ok(part) => Ok(part.map(|part| (part, received))),
                Err(failure) => Err(interruption.note(failure)),
            }
        }
    });
    parts.boxed().into_async_read()
}

/// The next part of a body; `None` at its end.
async fn next_part(received: &mut reqwest::Response, base: &str) -> Result<Option<Bytes>, Failure> {
    let part = timeout(READ_TIMEOUT, received.chunk())
        .await
        .map_err(|_| timed_out("body"))?;
    part.map_err(|error| failure(error, base))
}
