//! Requests sealed for a gateway of Oblivious HTTP (RFC 9458), without I/O.
//!
//! Both transports run one exchange in the same way:
//!
//! 1. take the key, else fetch the gateway's keys through the relay;
//! 2. seal the request, and post it to the relay's resource for the service;
//! 3. open the response, or find out why it is not sealed.
//!
//! Nothing is sent to the service's own address, and its name is not looked up.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::io::AsyncRead;
use papir_core::without_passwords;
use papir_ohttp::{ChosenKey, KeyList, Opener, ResponseHead, SealedRequest};
use papir_protocol::{header, limit, media};
use serde_json::Value;
use zeroize::Zeroize;

use super::options::Options;
use super::proxy::ProxySetting;
use super::relay::Relay;
use crate::core::{Address, Failure, Request, Response};
use crate::error::{Error, FinalFailure, RelayFailure, Result};

/// Number of bytes that are read of a response that is not sealed: keys, or a refusal.
pub(crate) const PLAIN_BYTES: u64 = limit::JSON_BYTES + 1;
/// The type of the problem that a gateway does not have the key of a request (RFC 9458, section
/// 5.3).
const UNKNOWN_KEY: &str = "https://iana.org/assignments/http-problem-types#ohttp-key";

/// The relay of the requests to one service: what is sent to it, and what its responses mean.
pub(crate) struct Oblivious {
    /// The relay's own address.
    relay: Address,
    /// The full address of the relay's resource for the service.
    resource: String,
    /// The scheme and the authority of the service, for every sealed request.
    target: papir_ohttp::InnerRequest,
    /// The file of the gateway's keys, in place of those that the relay carries.
    file: Option<PathBuf>,
    /// The gateway's key; `None` before the first request without a file.
    key: Mutex<Option<ChosenKey>>,
}

/// The outcome of one exchange with the relay.
pub(crate) enum Relayed {
    /// The service's response.
    Opened(Response),
    /// The gateway does not have the key of the request. It has not opened the request.
    UnknownKey,
}

impl Oblivious {
    /// The relay of the options, for the service at `address`; `None` for direct requests.
    ///
    /// # Errors
    /// [`Error::BadRelay`] and [`Error::BadOhttpKeys`].
    pub(crate) fn of(address: &Address, options: &Options) -> Result<Option<Arc<Self>>> {
        match &options.relay {
            Some(relay) => Ok(Some(Arc::new(Self::new(address, relay, options)?))),
            None => Ok(None),
        }
    }

    fn new(service: &Address, given: &Relay, options: &Options) -> Result<Self> {
        let relay = given.address()?;
        check(service, &relay, options).map_err(|reason| given.unusable(reason))?;
        let key = match &given.keys {
            Some(file) => Some(key_in(file)?),
            None => None,
        };

        let scheme = if service.is_https() { "https" } else { "http" };
        let authority = service.authority();
        Ok(Self {
            resource: relay.url(&format!("/{authority}")),
            relay,
            target: papir_ohttp::InnerRequest {
                scheme: scheme.to_owned(),
                authority,
                ..papir_ohttp::InnerRequest::default()
            },
            file: given.keys.clone(),
            key: Mutex::new(key),
        })
    }

    /// The relay's own address, which is connected to in place of the service's.
    pub(crate) fn relay(&self) -> &Address {
        &self.relay
    }

    /// The full address of the relay's resource for the service: `GET` returns the gateway's keys,
    /// `POST` takes sealed requests.
    pub(crate) fn resource(&self) -> &str {
        &self.resource
    }

    /// The key to seal with; `None` if keys must be fetched first.
    pub(crate) fn key(&self) -> Option<ChosenKey> {
        self.lock().clone()
    }

    /// Returns true if the keys are those that the relay carries, and not those of a file.
    pub(crate) fn fetches_keys(&self) -> bool {
        self.file.is_none()
    }

    /// Chooses among the keys in the response to a `GET`, for this and later requests.
    pub(crate) fn accept_keys(&self, response: Response) -> Result<ChosenKey, Failure> {
        if !is_of(&response, media::OHTTP_KEYS) {
            return Err(self.refused(&response, media::OHTTP_KEYS));
        }

        let bytes = response.body.map_err(|failure| self.lost(failure))?;
        let key = choose(&bytes).map_err(|error| {
            let reason = format!("the keys of the gateway cannot be used: {error}");
            self.failed(false, reason)
        })?;
        *self.lock() = Some(key.clone());
        Ok(key)
    }

    /// Seals a request. Within it are the headers of the core and no others.
    pub(crate) fn seal(
        &self,
        key: &ChosenKey,
        request: &Request,
    ) -> Result<SealedRequest, Failure> {
        let mut message = papir_ohttp::InnerRequest {
            method: request.method.name().to_owned(),
            path: request.path.clone(),
            ..self.target.clone()
        };
        for header in &request.headers {
            let value = header.value.as_str().to_owned();
            message.headers.push((header.name.to_owned(), value));
        }

        let body = request.body.as_deref().map_or(&[][..], Vec::as_slice);
        let sealed = key.seal(&message, body);
        // One of them may be a token.
        for (_, value) in &mut message.headers {
            value.zeroize();
        }
        sealed.map_err(|error| self.failed(false, format!("sealing failed: {error}")))
    }

    /// Returns true if the response to a `POST` is sealed. Otherwise it is a refusal.
    pub(crate) fn is_sealed(response: &Response) -> bool {
        is_of(response, media::OHTTP_CHUNKED_RESPONSE)
    }

    /// The outcome of an exchange whose response is not sealed.
    pub(crate) fn refusal(&self, response: &Response) -> Result<Relayed, Failure> {
        let problem = ShownProblem::of(response);
        let is_key = problem.is_some_and(|problem| problem.kind == UNKNOWN_KEY);
        if is_key && (400..=499).contains(&response.status) {
            return Ok(Relayed::UnknownKey);
        }
        Err(self.refused(response, media::OHTTP_CHUNKED_RESPONSE))
    }

    /// Opens a sealed response, and reads the part of its body that the core requests.
    pub(crate) async fn open(
        &self,
        opener: Opener,
        sealed: impl AsyncRead + Send + 'static,
        request: &Request,
    ) -> Result<Response, Failure> {
        let opened = opener
            .read(sealed, |head| of_head(head).limit(request).unwrap_or(0))
            .await
            .map_err(|error| self.failed(false, format!("unusable response: {error}")))?;

        Ok(Response {
            body: Ok(opened.body),
            ..of_head(&opened.head)
        })
    }

    /// The failure of a connection to the relay. A retry may resolve it, unless it is final.
    pub(crate) fn lost(&self, failure: Failure) -> Failure {
        let is_retryable = !failure.is::<FinalFailure>();
        self.failed(is_retryable, failure)
    }

    /// The failure if the gateway does not have the key, and no other is to be tried.
    pub(crate) fn unknown_key(&self) -> Failure {
        let reason = match &self.file {
            Some(file) => format!("the gateway does not have the key in {}", file.display()),
            None => "the gateway does not have the key that it publishes".to_owned(),
        };
        self.failed(false, reason)
    }

    /// The failure for a response that is not of the expected media type.
    fn refused(&self, response: &Response, expected: &str) -> Failure {
        let status = response.status;
        let found = media_type(response).unwrap_or("no media type");
        let reason = match ShownProblem::of(response) {
            Some(ShownProblem { code, detail, .. }) => format!("HTTP {status} ({code}): {detail}"),
            None if status == 200 => format!("expected {expected}, found {found}"),
            None => format!("HTTP {status} with {found}: not a response of a relay"),
        };

        // The statuses of a relay or gateway that is busy, or does not reach the next one.
        self.failed(matches!(status, 429 | 502..=504), reason)
    }

    fn failed(&self, is_retryable: bool, source: impl Into<Failure>) -> Failure {
        Box::new(RelayFailure {
            relay: without_passwords(self.relay.base()),
            is_retryable,
            source: source.into(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<ChosenKey>> {
        self.key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The failure of the connection that interrupted a sealed response. The cipher reports it only as
/// an error of reading. Clones share it.
pub(crate) struct Interruption<E>(Arc<Mutex<Option<E>>>);

impl<E> Interruption<E> {
    /// Stores the failure. Returns an error for the cipher.
    pub(crate) fn note(&self, failure: E) -> io::Error {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        io::Error::other("the connection broke")
    }

    /// Takes the failure; `None` if the connection did not break.
    pub(crate) fn take(&self) -> Option<E> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<E> Default for Interruption<E> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(None)))
    }
}

impl<E> Clone for Interruption<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Problem details (RFC 9457), of which every member may be missing.
struct ShownProblem {
    kind: String,
    code: String,
    detail: String,
}

impl ShownProblem {
    /// The problem in a refusal; `None` for a success, and for a body of another type.
    fn of(response: &Response) -> Option<Self> {
        if response.is_success() || media_type(response) != Some(media::PROBLEM) {
            return None;
        }

        let body = response.body.as_deref().ok()?;
        let members: Value = serde_json::from_slice(body).ok()?;
        let detail = member(&members, "detail").or_else(|| member(&members, "title"));
        Some(Self {
            kind: member(&members, "type").unwrap_or_default(),
            code: member(&members, "code").unwrap_or_else(|| "unknown".to_owned()),
            detail: detail.unwrap_or_default(),
        })
    }
}

/// The text of a member of problem details.
fn member(members: &Value, name: &str) -> Option<String> {
    Some(members.get(name)?.as_str()?.to_owned())
}

/// Checks that the options allow a relay for a service. The error is a reason.
fn check(service: &Address, relay: &Address, options: &Options) -> Result<(), &'static str> {
    if service.socket().is_some() {
        return Err("no relay reaches a service at a Unix socket");
    }
    // A relay's resources have the names of hosts.
    if service.has_path() {
        return Err("no relay reaches a service below a path: expected only a host and a port");
    }
    if options.identity.is_some() {
        return Err("the client certificate would be shown to the relay: expected none");
    }

    // Through a proxy, a loopback address is one of the proxy's machine.
    let is_carried = matches!(options.proxy, ProxySetting::Through(_));
    let is_exposed = !relay.is_https() && (is_carried || !relay.is_local());
    if is_exposed && !options.insecure_http {
        return Err("it would be reached in the clear: use https, or allow plain HTTP");
    }
    Ok(())
}

/// The key in a file.
fn key_in(file: &Path) -> Result<ChosenKey> {
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|opened| opened.take(PLAIN_BYTES).read_to_end(&mut bytes))
        .map_err(|error| bad_keys(file, error))?;
    choose(&bytes).map_err(|error| bad_keys(file, error))
}

fn bad_keys(file: &Path, reason: impl ToString) -> Error {
    Error::BadOhttpKeys {
        path: file.to_owned(),
        reason: reason.to_string(),
    }
}

/// The key to use of a list of configurations.
fn choose(list: &[u8]) -> papir_ohttp::Result<ChosenKey> {
    KeyList::parse(list)?.choose()
}

/// Returns true if a response succeeded with a body of this media type.
fn is_of(response: &Response, media: &str) -> bool {
    response.status == 200 && media_type(response) == Some(media)
}

/// The media type of a response's body, without parameters.
fn media_type(response: &Response) -> Option<&str> {
    let value = response.header(header::CONTENT_TYPE)?;
    value.split(';').next().map(str::trim)
}

/// The response with the head of an opened one, and an empty body.
fn of_head(head: &ResponseHead) -> Response {
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (name.as_str(), Some(value.as_str())));
    Response::of_head(head.status, headers)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
