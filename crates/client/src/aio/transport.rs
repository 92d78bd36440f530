//! Tasks of the protocol core over asynchronous HTTP.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use papir_protocol::header;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Url};
use tokio::time::{sleep, timeout};

use super::failures::{failure, timed_out};
use super::gate::Gate;
use super::http::{self, ProxiedClient};
use super::in_place::unblocked;
use crate::core::{Address, Failure, Request, Response, Step, Task};
use crate::error::Result;
use crate::state::ClientState;
use crate::transport::READ_TIMEOUT;
use crate::transport::options::Options;
use crate::transport::proxy::failures::through;

/// Slowest upload, in bytes per second: a service refuses slower ones.
const SLOWEST_UPLOAD: u64 = 4 << 10;

/// Runs tasks. Clones are cheap and share connections.
#[derive(Clone)]
pub(super) struct Transport {
    http: ProxiedClient,
    base: Arc<str>,
    state: ClientState,
}

impl Transport {
    /// A transport to the service at `address`. Connects at the first request.
    pub(super) fn new(address: &Address, options: &Options) -> Result<Self> {
        Ok(Self {
            http: http::client(address, options)?,
            base: address.base().into(),
            state: options.client_state(),
        })
    }

    /// Runs a task to its end. Its computations and files are work for blocking threads, unless it
    /// runs [`in_place`](super::in_place()). If the future is dropped, a step that runs there ends,
    /// and then the task is dropped.
    pub(super) async fn run<T: Send + 'static>(&self, task: Task<'static, T>) -> T {
        let mut step = unblocked(|| task.start()).await;

        loop {
            step = match step {
                Step::Send(request, then) => {
                    let response = self.send(request).await;
                    unblocked(|| then.resume(response)).await
                }
                Step::Wait(duration, then) => {
                    sleep(duration).await;
                    unblocked(|| then.resume()).await
                }
                Step::Store(request, then) => {
                    // Before a blocking thread is taken, which the lock's holder may need.
                    let gate = Gate::enter(&self.state, &request).await;
                    let state = self.state.clone();
                    unblocked(move || then.resume(gate.perform(&state, request))).await
                }
                Step::Done(output) => return output,
            };
        }
    }

    async fn send(&self, request: Request) -> Result<Response, Failure> {
        let sent = timeout(
            response_timeout(&request),
            self.http.client.execute(self.encode(&request)?),
        )
        .await;

        // The HTTP library may lose a request that it takes while the service refuses the
        // certificate.
        let received = sent.map_err(|_| self.explain(timed_out("response")))?;
        self.receive(&request, received.map_err(|error| self.failure(error))?)
            .await
    }

    fn failure(&self, error: reqwest::Error) -> Failure {
        self.explain(failure(error, &self.base))
    }

    /// Adds the certificate that the service asked for, or the proxy.
    fn explain(&self, failure: Failure) -> Failure {
        let failure = self.http.certificate.explain(failure);
        through(self.http.proxy.as_ref(), failure)
    }

    fn encode(&self, request: &Request) -> Result<reqwest::Request, Failure> {
        let method = Method::from_bytes(request.method.name().as_bytes())?;
        let url = Url::parse(&format!("{}{}", self.base, request.path))?;
        let mut encoded = reqwest::Request::new(method, url);

        for header in &request.headers {
            let mut value = HeaderValue::from_str(&header.value)?;
            value.set_sensitive(header.name == header::AUTHORIZATION);
            encoded
                .headers_mut()
                .append(HeaderName::from_static(header.name), value);
        }

        if let Some(body) = &request.body {
            *encoded.body_mut() = Some(Bytes::from_owner(Shared(Arc::clone(body))).into());
        }
        Ok(encoded)
    }

    /// Reads a response, and as much of its body as the core requests.
    async fn receive(
        &self,
        request: &Request,
        received: reqwest::Response,
    ) -> Result<Response, Failure> {
        self.http.certificate.satisfied();
        let headers = received.headers().iter();
        let headers: Vec<(String, String)> = headers
            .filter_map(|(name, value)| {
                Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
            })
            .collect();

        let mut response = Response {
            status: received.status().as_u16(),
            headers,
            body: Ok(Vec::new()),
        };
        if let Some(limit) = request.body_limit(response.status, response.header(header::VERSION)) {
            response.body = self.read(received, limit).await;
        }
        Ok(response)
    }

    /// Reads at most `limit` bytes. The connection can be used again if the body was read to its
    /// end.
    async fn read(&self, mut received: reqwest::Response, limit: u64) -> Result<Vec<u8>, Failure> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();

        while bytes.len() < limit {
            let part = timeout(READ_TIMEOUT, received.chunk())
                .await
                .map_err(|_| timed_out("body"))?;
            match part.map_err(|error| self.failure(error))? {
                Some(part) => bytes.extend_from_slice(&part[..part.len().min(limit - bytes.len())]),
                None => break,
            }
        }
        Ok(bytes)
    }
}

/// A shared body. Its bytes are not copied for a request.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Timeout from a request's first byte to the head of its response.
fn response_timeout(request: &Request) -> Duration {
    let bytes = request.body.as_ref().map_or(0, |body| body.len() as u64);
    READ_TIMEOUT + Duration::from_secs(bytes / SLOWEST_UPLOAD)
}
