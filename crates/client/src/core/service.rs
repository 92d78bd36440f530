//! HTTP calls to a service, with length limits and retries.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use papir_protocol::{ErrorBody, header, limit};
use serde::de::DeserializeOwned;

use super::address::Address;
use super::foreign::{ForeignHead, is_html};
use super::gateways::{GatewayGate, ServiceRelay};
use super::platform::Platform;
use super::request::{Accepted, Request, Response, bounded};
use super::retries::{PATIENCE, Retries, is_repeatable, is_retryable};
use super::settings::{Settings, Token};
use super::task::Io;
use crate::error::{Error, Result, is_final, unexpected};

/// The HTTP status of a response that confirms the client's copy.
const NOT_MODIFIED: u16 = 304;

/// A service and the token for it. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    pub(crate) address: Address,
    token: Option<Token>,
    /// The relay of Oblivious HTTP before the service; `None` for direct requests.
    relay: Option<ServiceRelay>,
    pub(crate) patience: Duration,
    /// The keys of gateways that a session has verified; `None` if no relay carries keys, and
    /// before a session begins.
    gate: Option<GatewayGate>,
    /// Set once the service has responded. Clones share it.
    responded: Arc<AtomicBool>,
    /// The other servers of the same database; empty if it has one server.
    others: Arc<[Address]>,
    pub(crate) platform: Arc<dyn Platform>,
}

/// The outcome of a request for bytes that confirms the client's copy or returns new bytes.
pub(crate) enum FetchOutcome {
    Fetched(Vec<u8>),
    Unchanged,
}

impl Service {
    /// The service at the address `url`.
    ///
    /// # Errors
    /// [`Error::BadUrl`]; [`Error::TokenInClear`] for a token that would be sent to another machine
    /// over plain HTTP, unless `insecure_http` allows it.
    pub fn new(
        url: &str,
        token: Option<Token>,
        insecure_http: bool,
        platform: Arc<dyn Platform>,
    ) -> Result<Self> {
        let address = Address::parse(url)?;
        // Over plain HTTP, others on the network could read the token.
        let exposed = !address.is_https() && !address.is_local();
        if token.is_some() && exposed && !insecure_http {
            return Err(Error::TokenInClear {
                url: address.list(),
            });
        }

        Ok(Self {
            address,
            token,
            relay: None,
            patience: PATIENCE,
            gate: None,
            responded: Arc::default(),
            others: Arc::default(),
            platform,
        })
    }

    /// Returns the same service with a time after its first attempt at which a request is not
    /// retried any more. By default it is one minute.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Returns the same service, reached through a relay of Oblivious HTTP. Registrations, copies
    /// of public parts and filters of sets are then stored for this relay: their use would link
    /// requests through it to others. If the relay carries the gateway's keys, sessions verify
    /// them.
    #[must_use]
    pub fn with_relay(self, relay: ServiceRelay) -> Self {
        Self {
            relay: Some(relay),
            ..self
        }
    }

    /// Returns the same service as one of several servers of a database. It must then be signed, or
    /// have the trusted root, and what the client has pinned of the others holds for it, too. Its
    /// requests are not repeated: the caller asks another server at once.
    #[must_use]
    pub fn beside(self, others: Vec<Address>) -> Self {
        Self {
            others: others.into(),
            ..self
        }
    }

    /// Returns the slot for stored data whose use the service can observe, given the slot for
    /// direct requests. It is another one for each relay: a service knows the address behind a
    /// direct request, and would recognise the client of a relayed one by an id or a copy.
    pub(crate) fn unlinked_slot(&self, slot: String) -> String {
        match &self.relay {
            Some(relay) => format!("{slot} through {}", relay.url()),
            None => slot,
        }
    }

    /// Returns true if requests go to the service directly, and not through a relay.
    pub(crate) fn is_direct(&self) -> bool {
        self.relay.is_none()
    }

    /// The other servers of the same database.
    pub(crate) fn others(&self) -> &[Address] {
        &self.others
    }

    /// Returns true if the database has other servers.
    pub(crate) fn is_one_of_several(&self) -> bool {
        !self.others.is_empty()
    }

    /// Notes that the service has responded.
    pub(crate) fn note_response(&self) {
        self.responded.store(true, Ordering::Relaxed);
    }

    /// Returns true if the service has ever responded.
    pub(crate) fn has_responded(&self) -> bool {
        self.responded.load(Ordering::Relaxed)
    }

    /// Time after a request's first attempt at which it is not retried any more.
    fn retry_time(&self) -> Duration {
        if self.is_one_of_several() {
            Duration::ZERO
        } else {
            self.patience
        }
    }

    /// Returns the same service for a new session. If a relay carries the gateway's keys, a session
    /// that has the owner's key from its settings holds the token back until it has verified them.
    pub(crate) fn of_session(self, settings: &Settings) -> Self {
        let is_required = settings.checkpoint.owner.is_some();
        let is_carried = self.relay.as_ref().is_some_and(ServiceRelay::carries_keys);
        let gate = is_carried.then(|| GatewayGate::new(is_required));
        Self { gate, ..self }
    }

    /// The keys of gateways that the session has verified; `None` if no relay carries keys.
    pub(crate) fn gate(&self) -> Option<&GatewayGate> {
        self.gate.as_ref()
    }

    /// Returns true while the session holds the token back.
    pub(crate) fn is_gate_closed(&self) -> bool {
        self.gate.as_ref().is_some_and(GatewayGate::is_closed)
    }

    /// The service's address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The name of the database in the settings, else in the address; `None` if neither names one.
    pub(crate) fn named<'a>(&'a self, settings: &'a Settings) -> Option<&'a String> {
        settings
            .database
            .as_ref()
            .or(self.address.database.as_ref())
    }

    /// The full address of a path, for messages.
    pub(crate) fn url(&self, path: &str) -> String {
        self.address.url(path)
    }

    /// Adds the token to a request, if there is one and it is not held back.
    pub(crate) fn authorized(&self, request: Request) -> Request {
        match &self.token {
            Some(token) if !self.is_gate_closed() => {
                request.with_header(header::AUTHORIZATION, token.bearer())
            }
            _ => request,
        }
    }

    /// Sends a request. Repeats the same bytes while the server is busy, starts, stops or restarts.
    /// A server that has never responded gets only a few repetitions.
    pub(crate) async fn send(&self, io: &Io, request: Request) -> Result<Response> {
        let platform = &*self.platform;
        let mut retries = Retries::new(platform, self.retry_time());
        let gateways = self.gate.as_ref().and_then(GatewayGate::keys);
        let request = request.for_gateways(gateways);

        loop {
            let outcome = io.send(request.clone()).await;
            // A service that responded has the right address, and may only be restarting.
            if outcome.is_ok() {
                self.note_response();
            }

            match outcome {
                Ok(response) if is_retryable(&response) => {
                    if !retries.after_refusal(io, platform, &response).await {
                        return Ok(response);
                    }
                }
                Ok(response) => return Ok(response),
                Err(source) => {
                    let is_final = is_final(source.as_ref()) || !is_repeatable(&request);
                    let responded = self.has_responded();
                    if is_final || !retries.after_failure(io, platform, responded).await {
                        return Err(Error::of_failure(self.url(&request.path), source));
                    }
                }
            }
        }
    }

    /// Sends a GET request. Any status other than 200 to 299 is an error.
    pub(crate) async fn get(&self, io: &Io, path: &str, accepted: Accepted) -> Result<Response> {
        let response = self
            .send(io, self.authorized(Request::get(path, accepted)))
            .await?;
        if response.is_success() {
            Ok(response)
        } else {
            Err(self.refusal(path, response))
        }
    }

    /// Fetches JSON of at most [`limit::JSON_BYTES`] bytes.
    pub(crate) async fn json<T: DeserializeOwned>(&self, io: &Io, path: &str) -> Result<T> {
        self.json_up_to(io, path, limit::JSON_BYTES).await
    }

    /// Fetches JSON of at most `limit` bytes.
    pub(crate) async fn json_up_to<T: DeserializeOwned>(
        &self,
        io: &Io,
        path: &str,
        limit: u64,
    ) -> Result<T> {
        let response = self.get(io, path, Accepted::UpTo(limit)).await?;
        self.decode(path, response, limit)
    }

    /// Fetches at most `limit` bytes of one version; `None` if the server has another version.
    pub(crate) async fn bytes_of(
        &self,
        io: &Io,
        path: &str,
        version: &str,
        limit: u64,
    ) -> Result<Option<Vec<u8>>> {
        let response = self
            .get(io, path, Accepted::OfVersion(version.to_owned(), limit))
            .await?;

        // The body of another version was not read.
        if !self.is_of_version(path, version, &response)? {
            return Ok(None);
        }
        self.binary(path, response, limit).map(Some)
    }

    /// Asks the server to confirm the client's copy of one version. Returns
    /// [`FetchOutcome::Unchanged`] if it does, else fetches at most `limit` bytes. `None` if the
    /// server has another version.
    pub(crate) async fn confirm_or_fetch(
        &self,
        io: &Io,
        path: &str,
        version: &str,
        limit: u64,
    ) -> Result<Option<FetchOutcome>> {
        let request = Request::get(path, Accepted::OfVersion(version.to_owned(), limit))
            .with_header(header::IF_NONE_MATCH, format!("\"{version}\""));
        let response = self.send(io, self.authorized(request)).await?;
        // No success by its number, and the answer that was hoped for.
        let unchanged = response.status == NOT_MODIFIED;
        if !unchanged && !response.is_success() {
            return Err(self.refusal(path, response));
        }

        if !self.is_of_version(path, version, &response)? {
            return Ok(None);
        }
        if unchanged {
            return Ok(Some(FetchOutcome::Unchanged));
        }
        let bytes = self.binary(path, response, limit)?;
        Ok(Some(FetchOutcome::Fetched(bytes)))
    }

    /// Returns true if a response names this version. A response that names none is an error.
    fn is_of_version(&self, path: &str, version: &str, response: &Response) -> Result<bool> {
        match response.header(header::VERSION) {
            Some(found) => Ok(found == version),
            None => {
                let found = match is_html(response) {
                    true => "an HTML page without a",
                    false => "no",
                };
                let reason = format!("{found} {} header", header::VERSION);
                Err(unexpected(&self.url(path), reason))
            }
        }
    }

    /// Decodes the JSON of a successful response of at most `limit` bytes.
    pub(crate) fn decode<T: DeserializeOwned>(
        &self,
        path: &str,
        response: Response,
        limit: u64,
    ) -> Result<T> {
        let head = ForeignHead::of(&response);
        let bytes = self.body(path, response, limit)?;
        serde_json::from_slice(&bytes).map_err(|error| {
            let found = match head.holds_page(&bytes) {
                true => "an HTML page".to_owned(),
                false => error.to_string(),
            };
            let reason = format!("{found}: expected JSON of a papir service");
            unexpected(&self.url(path), reason)
        })
    }

    /// The body of a successful response with bytes of a papir service. An HTML page is an error
    /// before its bytes are decoded.
    pub(crate) fn binary(&self, path: &str, response: Response, limit: u64) -> Result<Vec<u8>> {
        if is_html(&response) {
            let reason = "an HTML page: expected bytes of a papir service";
            return Err(unexpected(&self.url(path), reason.to_owned()));
        }
        self.body(path, response, limit)
    }

    /// The body of a response. More than `limit` bytes are an error.
    pub(crate) fn body(&self, path: &str, response: Response, limit: u64) -> Result<Vec<u8>> {
        let limit = bounded(limit);
        let bytes = response
            .body
            .map_err(|failure| Error::of_failure(self.url(path), failure))?;

        // The transport reads one byte more than the limit.
        if bytes.len() as u64 > limit {
            return Err(Error::TooLong {
                url: self.url(path),
                limit,
            });
        }
        Ok(bytes)
    }

    /// The error for a refusal. It contains the server's message if the server is a papir service.
    pub(crate) fn refusal(&self, path: &str, response: Response) -> Error {
        self.refusal_of(path, response, None)
    }

    /// Like [`Service::refusal`], for a request with a body of `sent` bytes.
    pub(crate) fn refusal_of(&self, path: &str, response: Response, sent: Option<usize>) -> Error {
        let url = self.url(path);
        let status = response.status;
        // Taken out first, since reading the body consumes the response.
        let head = ForeignHead::of(&response);
        let body = self
            .body(path, response, limit::JSON_BYTES)
            .unwrap_or_default();

        match ErrorBody::parse(&body) {
            Some(problem) => Error::Http {
                url,
                status,
                code: problem.code,
                message: problem.detail,
                current: problem.version.and_then(|text| text.parse().ok()),
            },
            None => head.refusal(url, &body, sent),
        }
    }
}
