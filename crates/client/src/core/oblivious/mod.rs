//! Requests sealed for a gateway of Oblivious HTTP (RFC 9458), without I/O.
//!
//! All transports run one exchange in the same way:
//!
//! 1. take the key, else fetch the gateway's keys through the relay;
//! 2. seal the request, and post it to the relay's resource for the service;
//! 3. open the response, or find out why it is not sealed.
//!
//! Nothing is sent to the service's own address, and its name is not looked up.

mod given;
mod problem;

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::io::AsyncRead;
use papir_checkpoint::hex;
use papir_core::without_passwords;
use papir_ohttp::{
    ChosenKey, InnerRequest, InnerResponse, KeyDigest, KeyList, Opener, ResponseHead, SealedRequest,
};
use papir_protocol::{limit, media};
use zeroize::Zeroize;

use self::problem::{ShownProblem, is_of, media_type};
use super::address::Address;
use super::gateways::ServiceRelay;
use super::request::{Failure, Request, Response};
use crate::error::Result;
use crate::failure::{FinalFailure, RelayFailure};

#[cfg(feature = "transport")]
pub(crate) use self::given::relay_address;
pub use self::given::{GivenKeys, RelayChoice};

/// The type of the problem that a gateway does not have the key of a request (RFC 9458, section
/// 5.3).
const UNKNOWN_KEY: &str = "https://iana.org/assignments/http-problem-types#ohttp-key";
/// Bytes of a sealed response besides its body: the head and the end of a short message, which
/// `papir-ohttp` bounds, and the cipher's tags.
const SEALED_REST_BYTES: u64 = 256 << 10;

/// The relay of the requests to one service: what is sent to it, and what its responses mean.
pub struct Oblivious {
    /// The relay's own address.
    relay: Address,
    /// The path of the relay's resource for the service, below the relay's address.
    path: String,
    /// The full address of the resource.
    resource: String,
    /// The scheme and the authority of the service, for every sealed request.
    target: InnerRequest,
    /// The name of the given keys; `None` if the relay carries the keys.
    source: Option<String>,
    /// The gateway's key; `None` before the first request without given keys.
    key: Mutex<Option<ChosenKey>>,
}

/// The outcome of one exchange with the relay.
#[derive(Debug)]
pub enum Relayed {
    /// The service's response.
    Opened(Response),
    /// The gateway does not have the key of the request. It has not opened the request.
    UnknownKey,
}

impl Oblivious {
    /// The media type of a sealed request.
    pub const REQUEST_TYPE: &str = media::OHTTP_CHUNKED_REQUEST;
    /// Number of bytes that are read of a response that is not sealed: keys, or a refusal.
    pub const PLAIN_BYTES: u64 = limit::JSON_BYTES + 1;

    /// A relay for the requests to the service at `service`.
    ///
    /// # Errors
    /// [`Error::BadRelay`](crate::Error::BadRelay) if the relay cannot be used for the service.
    pub fn new(service: &Address, given: &RelayChoice) -> Result<Self> {
        let relay = given.address_for(service)?;
        let keys = given.keys.as_ref();
        let scheme = if service.is_https() { "https" } else { "http" };
        let authority = service.authority();
        let path = format!("/{authority}");

        Ok(Self {
            resource: relay.url(&path),
            relay,
            path,
            target: InnerRequest {
                scheme: scheme.to_owned(),
                authority,
                ..InnerRequest::default()
            },
            source: keys.map(|keys| keys.source.clone()),
            key: Mutex::new(keys.map(|keys| keys.key.clone())),
        })
    }

    /// The relay's own address, which is connected to in place of the service's.
    pub fn relay(&self) -> &Address {
        &self.relay
    }

    /// The full address of the relay's resource for the service: `GET` returns the gateway's keys,
    /// `POST` takes sealed requests.
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// The path of the resource, below the relay's address.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The relay as [`Service::with_relay`](super::Service::with_relay) takes it.
    pub fn service_relay(&self) -> ServiceRelay {
        ServiceRelay::at(&self.relay, self.fetches_keys())
    }

    /// The key to seal a request with; `None` if keys must be fetched first: there are none, or the
    /// owner of the database does not name the present one. A given key is used for all requests.
    pub fn key(&self, request: &Request) -> Option<ChosenKey> {
        let key = self.lock().clone()?;
        let is_usable = !self.fetches_keys() || may_seal(request, key.digest());
        is_usable.then_some(key)
    }

    /// Returns true if the relay carries the keys, so that they may be fetched again.
    pub fn fetches_keys(&self) -> bool {
        self.source.is_none()
    }

    /// Chooses among the keys in the response to a `GET`, for this request and later ones.
    ///
    /// # Errors
    /// A [`RelayFailure`] if the response is no list of keys, or was interrupted, and if the owner
    /// of the request's database names none of the keys.
    pub fn accept_keys(&self, response: Response, request: &Request) -> Result<ChosenKey, Failure> {
        if !is_of(&response, media::OHTTP_KEYS) {
            return Err(self.refused(&response, media::OHTTP_KEYS));
        }

        let bytes = response.body.map_err(|failure| self.lost(failure))?;
        let key = choose_for(request, &bytes).map_err(|reason| {
            let reason = format!("the keys of the gateway cannot be used: {reason}");
            self.failed(false, reason)
        })?;
        *self.lock() = Some(key.clone());
        Ok(key)
    }

    /// Seals a request. Within it are the headers of the core and no others.
    ///
    /// # Errors
    /// A [`RelayFailure`] if the key is none of its mechanism's.
    pub fn seal(&self, key: &ChosenKey, request: &Request) -> Result<SealedRequest, Failure> {
        let mut message = InnerRequest {
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
    pub fn is_sealed(response: &Response) -> bool {
        is_of(response, media::OHTTP_CHUNKED_RESPONSE)
    }

    /// The outcome of an exchange whose response is not sealed.
    ///
    /// # Errors
    /// A [`RelayFailure`], unless the gateway does not have the key.
    pub fn refusal(&self, response: &Response) -> Result<Relayed, Failure> {
        let problem = ShownProblem::of(response);
        let is_key = problem.is_some_and(|problem| problem.kind == UNKNOWN_KEY);
        if is_key && (400..=499).contains(&response.status) {
            return Ok(Relayed::UnknownKey);
        }
        Err(self.refused(response, media::OHTTP_CHUNKED_RESPONSE))
    }

    /// Opens a sealed response, and reads the part of its body that the core requests.
    ///
    /// # Errors
    /// A [`RelayFailure`] if the response was not sealed for this request, or is cut off.
    pub async fn open(
        &self,
        opener: Opener,
        sealed: impl AsyncRead + Send + 'static,
        request: &Request,
    ) -> Result<Response, Failure> {
        let read = opener.read(sealed, |head| body_limit(head, request)).await;
        self.opened(read)
    }

    /// Like [`Oblivious::open`], for a response in memory, which may be cut off after
    /// [`Oblivious::sealed_limit`] bytes.
    ///
    /// # Errors
    /// The errors of [`Oblivious::open`].
    pub fn open_whole(
        &self,
        opener: Opener,
        sealed: Vec<u8>,
        request: &Request,
    ) -> Result<Response, Failure> {
        self.opened(opener.open_within(sealed, |head| body_limit(head, request)))
    }

    /// Number of bytes of the sealed response to a request that a transport reads before it opens
    /// the response. It is more than a gateway needs for the longest body that the core accepts.
    pub fn sealed_limit(request: &Request) -> u64 {
        // Twice, for the padding, and for the lengths and tags of short parts.
        2 * request.most_bytes() + SEALED_REST_BYTES
    }

    fn opened(&self, read: papir_ohttp::Result<InnerResponse>) -> Result<Response, Failure> {
        let opened =
            read.map_err(|error| self.failed(false, format!("unusable response: {error}")))?;
        Ok(Response {
            body: Ok(opened.body),
            ..of_head(&opened.head)
        })
    }

    /// The failure of a connection to the relay. A retry may resolve it, unless it is final.
    pub fn lost(&self, failure: Failure) -> Failure {
        let is_retryable = !failure.is::<FinalFailure>();
        self.failed(is_retryable, failure)
    }

    /// The failure if the gateway does not have the key, and no other is to be tried.
    pub fn unknown_key(&self) -> Failure {
        let reason = match &self.source {
            Some(source) => format!("the gateway does not have the key in {source}"),
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

/// The key to use of a list of configurations for a request. The error is a reason.
fn choose_for(request: &Request, list: &[u8]) -> Result<ChosenKey, String> {
    let list = KeyList::parse(list).map_err(|error| error.to_string())?;
    let chosen = list.choose_among(|digest| may_seal(request, digest));
    let Some(named) = request.gateways() else {
        return chosen.map_err(|error| error.to_string());
    };

    chosen.map_err(|_| {
        let found: Vec<String> = list.digests().map(|digest| digest.to_string()).collect();
        let expected: Vec<String> = named.keys().iter().map(hex).collect();
        format!(
            "{}: expected one that the owner of the database names, {}",
            found.join(", "),
            expected.join(", ")
        )
    })
}

/// Returns true if a request may be sealed for the key with this digest.
fn may_seal(request: &Request, key: KeyDigest) -> bool {
    match request.gateways() {
        Some(named) => named.contains(&key.0),
        None => true,
    }
}

/// Number of bytes that are read of the body of a response with this head.
fn body_limit(head: &ResponseHead, request: &Request) -> u64 {
    of_head(head).limit(request).unwrap_or(0)
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
