//! Requests over HTTP: bounded reading, typed refusals, patience with a busy server.

use std::io::Read;
use std::thread::sleep;
use std::time::Duration;

use papir_core::Version;
use serde::de::DeserializeOwned;
use ureq::http::{Response, header};
use ureq::{Agent, Body};

use crate::info::Refusal;
use crate::{Error, Result};

const VERSION_HEADER: &str = "papir-version";
/// Longest JSON that is read, in bytes.
const JSON_LIMIT: u64 = 1 << 20;
/// Longest response that is read whatever the server announces: 4 GiB.
const ABSOLUTE_LIMIT: u64 = 4 << 30;
/// How often a busy server is asked again.
const BUSY_RETRIES: usize = 5;
/// Longest wait that a busy server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Longest silence of a server, which covers its work on an answer.
const SILENCE: Duration = Duration::from_secs(120);

/// Sends requests; cheap to clone, clones share connections.
#[derive(Clone)]
pub(crate) struct Transport {
    agent: Agent,
}

/// What became of a request for answers.
pub(crate) enum Reply {
    /// The answers.
    Answers(Vec<u8>),
    /// The database has another version by now; this is the refusal.
    Moved(Error),
}

impl Transport {
    pub(crate) fn new() -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("papir/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(Duration::from_secs(10)))
            .timeout_per_read(Some(SILENCE))
            .timeout_per_write(Some(SILENCE))
            .build();
        Self { agent: config.into() }
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

    fn get(&self, url: &str) -> Result<Response<Body>> {
        let response = self.agent.get(url).call().map_err(|error| transport(url, error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(refusal(url, response))
    }

    /// Sends queries for one version; at most `limit` bytes of answers come back. A busy server is
    /// asked again, with the same bytes, as often as [`BUSY_RETRIES`] and when it says.
    pub(crate) fn ask(&self, url: &str, version: Version, queries: &[u8], limit: u64) -> Result<Reply> {
        let mut retries = 0..BUSY_RETRIES;
        loop {
            let request = self.agent.post(url).header(VERSION_HEADER, version.to_string());
            let request = request.content_type("application/octet-stream");
            let response = request.send(queries).map_err(|error| transport(url, error))?;
            match response.status().as_u16() {
                200 => return read(url, response, limit).map(Reply::Answers),
                409 => return Ok(Reply::Moved(refusal(url, response))),
                429 if retries.next().is_some() => {
                    let wait = advised_wait(&response);
                    // Read to its end, so that the connection can be used again.
                    drop(refusal(url, response));
                    sleep(wait);
                }
                _ => return Err(refusal(url, response)),
            }
        }
    }
}

/// What `Retry-After` says, within bounds; a second where it says nothing.
fn advised_wait(response: &Response<Body>) -> Duration {
    let value = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let seconds = value.and_then(|text| text.parse().ok()).unwrap_or(1);
    Duration::from_secs(seconds).min(LONGEST_WAIT)
}

/// Reads a body to its end, keeping at most `limit` bytes.
fn read(url: &str, response: Response<Body>, limit: u64) -> Result<Vec<u8>> {
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
fn refusal(url: &str, response: Response<Body>) -> Error {
    let status = response.status().as_u16();
    let body = read(url, response, JSON_LIMIT).unwrap_or_default();
    let (code, message) = match serde_json::from_slice::<Refusal>(&body) {
        Ok(refusal) => (refusal.error.code, refusal.error.message),
        Err(_) => ("unknown".to_owned(), "not an answer of a papir service".to_owned()),
    };
    Error::Http { url: url.to_owned(), status, code, message }
}

fn transport(url: &str, source: ureq::Error) -> Error {
    Error::Transport { url: url.to_owned(), source: Box::new(source) }
}

pub(crate) fn unexpected(url: &str, reason: String) -> Error {
    Error::Unexpected { url: url.to_owned(), reason }
}
