//! HTTP calls to a service, with limits, typed errors and retries.

use std::sync::Arc;
use std::time::Duration;

use papir_protocol::{ErrorBody, header, limit};
use serde::de::DeserializeOwned;

use super::address::Address;
use super::platform::Platform;
use super::request::{Accepted, Request, Response, bounded};
use super::settings::Token;
use super::task::Io;
use crate::error::{Error, Result, unexpected};

/// Maximum number of retries while the server is busy.
const MAX_BUSY_RETRIES: usize = 5;
/// Upper bound on the wait that a server advises.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// A service, and the token to send to it. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    pub(crate) address: Address,
    token: Option<Token>,
    pub(crate) platform: Arc<dyn Platform>,
}

impl Service {
    /// The service at an address.
    ///
    /// # Errors
    /// [`Error::BadUrl`]; [`Error::TokenInClear`] for a token that would leave this machine over
    /// plain HTTP, unless `insecure_http` allows it.
    pub fn new(
        url: &str,
        token: Option<Token>,
        insecure_http: bool,
        platform: Arc<dyn Platform>,
    ) -> Result<Self> {
        let address = Address::parse(url)?;
        let exposed = !address.is_https() && !address.is_local();
        if token.is_some() && exposed && !insecure_http {
            return Err(Error::TokenInClear { url: address.list() });
        }
        Ok(Self { address, token, platform })
    }

    /// The service's address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The retries of one call while the server is busy, as an iterator to count down.
    pub(crate) fn busy_retries() -> impl Iterator + Send {
        0..MAX_BUSY_RETRIES
    }

    /// The full address of a path, for messages.
    pub(crate) fn url(&self, path: &str) -> String {
        self.address.url(path)
    }

    /// Adds the client's token, if it has one.
    pub(crate) fn authorized(&self, request: Request) -> Request {
        match &self.token {
            Some(token) => request.with_header(header::AUTHORIZATION, token.bearer()),
            None => request,
        }
    }

    /// Sends a request once.
    pub(crate) async fn send(&self, io: &Io, request: Request) -> Result<Response> {
        let url = self.url(&request.path);
        io.send(request).await.map_err(|source| Error::Transport { url, source })
    }

    /// Sends a GET request, and repeats it while the server is busy.
    pub(crate) async fn get(&self, io: &Io, path: &str, accepted: Accepted) -> Result<Response> {
        let mut retries = Self::busy_retries();
        loop {
            let request = self.authorized(Request::get(path, accepted.clone()));
            let response = self.send(io, request).await?;
            match response.status {
                200..=299 => return Ok(response),
                429 if retries.next().is_some() => io.wait(advised_wait(&response)).await,
                _ => return Err(self.refusal(path, response)),
            }
        }
    }

    /// Fetches JSON.
    pub(crate) async fn json<T: DeserializeOwned>(&self, io: &Io, path: &str) -> Result<T> {
        let response = self.get(io, path, Accepted::UpTo(limit::JSON_BYTES)).await?;
        self.decode(path, response)
    }

    /// Fetches at most `limit` bytes of one version; `None` if the server has another version.
    pub(crate) async fn bytes_of(
        &self,
        io: &Io,
        path: &str,
        version: &str,
        limit: u64,
    ) -> Result<Option<Vec<u8>>> {
        let response = self.get(io, path, Accepted::OfVersion(version.to_owned(), limit)).await?;
        match response.header(header::VERSION) {
            None => Err(unexpected(&self.url(path), format!("no {} header", header::VERSION))),
            Some(found) if found != version => Ok(None),
            Some(_) => self.body(path, response, limit).map(Some),
        }
    }

    /// The JSON of a successful response.
    pub(crate) fn decode<T: DeserializeOwned>(&self, path: &str, response: Response) -> Result<T> {
        let bytes = self.body(path, response, limit::JSON_BYTES)?;
        serde_json::from_slice(&bytes).map_err(|error| {
            unexpected(&self.url(path), format!("{error}: expected JSON of a papir service"))
        })
    }

    /// The body of a response, at most `limit` bytes.
    pub(crate) fn body(&self, path: &str, response: Response, limit: u64) -> Result<Vec<u8>> {
        let limit = bounded(limit);
        let bytes = response.body.map_err(|source| Error::Transport { url: self.url(path), source })?;
        if bytes.len() as u64 > limit {
            return Err(Error::TooLong { url: self.url(path), limit });
        }
        Ok(bytes)
    }

    /// The error for a refusal, with the server's message if it is a papir service.
    pub(crate) fn refusal(&self, path: &str, response: Response) -> Error {
        let status = response.status;
        let body = self.body(path, response, limit::JSON_BYTES).unwrap_or_default();
        let (code, message) = match serde_json::from_slice::<ErrorBody>(&body) {
            Ok(ErrorBody { error }) => (error.code, error.message),
            Err(_) => ("unknown".to_owned(), "not a response of a papir service".to_owned()),
        };
        Error::Http { url: self.url(path), status, code, message }
    }
}

/// The wait that `Retry-After` advises, at most [`MAX_WAIT`]. Without the header, a second.
pub(crate) fn advised_wait(response: &Response) -> Duration {
    let seconds = response.header(header::RETRY_AFTER).and_then(|text| text.parse().ok()).unwrap_or(1);
    Duration::from_secs(seconds).min(MAX_WAIT)
}
