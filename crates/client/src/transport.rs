//! Requests over HTTP: bounded reading, typed refusals, patience with a busy server.

use std::io::Read;
use std::thread::sleep;
use std::time::{Duration, Instant};

use papir_core::Version;
use serde::de::DeserializeOwned;
use ureq::http::{Response, header};
use ureq::{Agent, Body, RequestBuilder};

use crate::address::Address;
use crate::info::Refusal;
use crate::{Error, Options, Result, Token, agent};

pub(crate) const VERSION_HEADER: &str = "papir-version";
const CLIENT_HEADER: &str = "papir-client";
const TICKET_HEADER: &str = "papir-ticket";
/// Longest JSON that is read, in bytes.
pub(crate) const JSON_LIMIT: u64 = 1 << 20;
/// Longest response that is read whatever the server announces: 4 GiB.
const ABSOLUTE_LIMIT: u64 = 4 << 30;
/// How often a busy server is asked again.
const BUSY_RETRIES: usize = 5;
/// Longest wait that a busy server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How long a client waits for its tickets to be prepared.
const TICKET_PATIENCE: Duration = Duration::from_secs(600);

/// Sends requests; cheap to clone, clones share connections.
#[derive(Clone)]
pub(crate) struct Transport {
    pub(crate) agent: Agent,
    pub(crate) token: Option<Token>,
}

/// Queries to be sent.
pub(crate) struct Ask<'a> {
    /// The version they are for.
    pub(crate) version: Version,
    /// The registered client that they are of, where there is one.
    pub(crate) client: Option<&'a str>,
    /// The numbers of the tickets that they use up.
    pub(crate) tickets: &'a [u64],
    /// The queries back to back.
    pub(crate) queries: &'a [u8],
    /// The most bytes of answers.
    pub(crate) limit: u64,
}

/// What became of a request for answers.
pub(crate) enum Reply {
    /// The answers.
    Answers(Vec<u8>),
    /// The database has another version by now; this is the refusal.
    Moved(Error),
    /// The service knows the client no more; this is the refusal.
    Gone(Error),
}

impl Transport {
    /// # Errors
    /// [`Error::TokenInClear`] before anything is sent, [`Error::BadCa`].
    pub(crate) fn new(address: &Address, options: &Options) -> Result<Self> {
        let readable = !address.is_https() && !address.is_local();
        if options.token.is_some() && readable && !options.insecure_http {
            return Err(Error::TokenInClear { url: address.list() });
        }
        Ok(Self { agent: agent::new(address, options)?, token: options.token.clone() })
    }

    /// Fetches JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self, url: &str) -> Result<T> {
        let response = self.get(url)?;
        let bytes = read(url, response, JSON_LIMIT)?;
        serde_json::from_slice(&bytes)
            .map_err(|error| unexpected(url, format!("{error}: expected papir's JSON")))
    }

    /// Fetches at most `limit` bytes; `None` when they are of another version.
    pub(crate) fn bytes_of(&self, url: &str, version: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let response = self.get(url)?;
        let found = response.headers().get(VERSION_HEADER).and_then(|value| value.to_str().ok());
        let found = found.ok_or_else(|| unexpected(url, format!("no {VERSION_HEADER} header")))?;
        if found != version {
            return Ok(None);
        }
        read(url, response, limit).map(Some)
    }

    /// Fetches a ticket of a version, as long as [`TICKET_PATIENCE`]; `None` when there is none for that
    /// version or client any more.
    pub(crate) fn ticket(&self, url: &str, version: Version, limit: u64) -> Result<Option<Vec<u8>>> {
        let (mut retries, start) = (0..BUSY_RETRIES, Instant::now());
        loop {
            let request = self.agent.get(url).header(VERSION_HEADER, version.to_string());
            let response = self.known(request).call().map_err(|error| transport(url, error))?;
            match response.status().as_u16() {
                200 => return read(url, response, limit).map(Some),
                409 | 410 => return Ok(None),
                429 if retries.next().is_some() => wait_as_told(url, response),
                503 if start.elapsed() < TICKET_PATIENCE => wait_for_ticket(url, response)?,
                _ => return Err(refusal(url, response)),
            }
        }
    }

    /// Asks, and looks at the status alone.
    pub(crate) fn reach(&self, url: &str) -> Result<()> {
        self.get(url).map(drop)
    }

    fn get(&self, url: &str) -> Result<Response<Body>> {
        let mut retries = 0..BUSY_RETRIES;
        loop {
            let request = self.known(self.agent.get(url));
            let response = request.call().map_err(|error| transport(url, error))?;
            match response.status().as_u16() {
                200..=299 => return Ok(response),
                429 if retries.next().is_some() => wait_as_told(url, response),
                _ => return Err(refusal(url, response)),
            }
        }
    }

    /// The request with the client's token, where it has one.
    fn known<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        match &self.token {
            Some(token) => request.header(header::AUTHORIZATION, token.bearer().as_str()),
            None => request,
        }
    }

    /// Sends queries for one version. A busy server is asked again, with the same bytes, as often as
    /// [`BUSY_RETRIES`] and when it says; one that prepares the client's tickets as long as
    /// [`TICKET_PATIENCE`].
    pub(crate) fn ask(&self, url: &str, ask: &Ask<'_>) -> Result<Reply> {
        let (mut retries, start) = (0..BUSY_RETRIES, Instant::now());
        loop {
            let request = self.agent.post(url).header(VERSION_HEADER, ask.version.to_string());
            let mut request = self.known(request);
            if let Some(client) = ask.client {
                request = request.header(CLIENT_HEADER, client);
            }
            if !ask.tickets.is_empty() {
                let numbers: Vec<String> = ask.tickets.iter().map(u64::to_string).collect();
                request = request.header(TICKET_HEADER, numbers.join(","));
            }
            let request = request.content_type("application/octet-stream");
            let response = request.send(ask.queries).map_err(|error| transport(url, error))?;
            match response.status().as_u16() {
                200 => return read(url, response, ask.limit).map(Reply::Answers),
                409 => return Ok(Reply::Moved(refusal(url, response))),
                429 if retries.next().is_some() => wait_as_told(url, response),
                410 => return Ok(Reply::Gone(refusal(url, response))),
                503 if start.elapsed() < TICKET_PATIENCE => wait_for_ticket(url, response)?,
                _ => return Err(refusal(url, response)),
            }
        }
    }
}

/// Waits as long as a server says that prepares the client's tickets.
///
/// # Errors
/// What else the server refused.
fn wait_for_ticket(url: &str, response: Response<Body>) -> Result<()> {
    let wait = advised_wait(&response);
    let refused = refusal(url, response);
    if refused.code() != "no_ticket" {
        return Err(refused);
    }
    sleep(wait);
    Ok(())
}

/// Waits as long as a busy server says.
fn wait_as_told(url: &str, response: Response<Body>) {
    let wait = advised_wait(&response);
    // Read to its end, so that the connection can be used again.
    drop(refusal(url, response));
    sleep(wait);
}

/// What `Retry-After` says, within bounds; a second where it says nothing.
pub(crate) fn advised_wait(response: &Response<Body>) -> Duration {
    let value = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let seconds = value.and_then(|text| text.parse().ok()).unwrap_or(1);
    Duration::from_secs(seconds).min(LONGEST_WAIT)
}

/// Reads a body to its end, keeping at most `limit` bytes.
pub(crate) fn read(url: &str, response: Response<Body>, limit: u64) -> Result<Vec<u8>> {
    let limit = limit.min(ABSOLUTE_LIMIT);
    let mut bytes = Vec::new();
    let mut reader = response.into_body().into_reader().take(limit + 1);
    reader.read_to_end(&mut bytes).map_err(|error| transport(url, error.into()))?;
    if bytes.len() as u64 > limit {
        return Err(Error::TooLong { url: url.to_owned(), limit });
    }
    Ok(bytes)
}

/// A refusal as an error, with the service's own words where it is a papir service.
pub(crate) fn refusal(url: &str, response: Response<Body>) -> Error {
    let status = response.status().as_u16();
    let body = read(url, response, JSON_LIMIT).unwrap_or_default();
    let (code, message) = match serde_json::from_slice::<Refusal>(&body) {
        Ok(refusal) => (refusal.error.code, refusal.error.message),
        Err(_) => ("unknown".to_owned(), "not an answer of a papir service".to_owned()),
    };
    Error::Http { url: url.to_owned(), status, code, message }
}

pub(crate) fn transport(url: &str, source: ureq::Error) -> Error {
    Error::Transport { url: url.to_owned(), source: Box::new(source) }
}

pub(crate) fn unexpected(url: &str, reason: String) -> Error {
    Error::Unexpected { url: url.to_owned(), reason }
}
