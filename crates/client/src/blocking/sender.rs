//! Requests to services that are not papir's.

use std::fmt;
use std::io::Read;
use std::time::Duration;

use ureq::http::Request;

use super::agent::{self, HttpAgent};
use crate::core::Address;
use crate::error::{Error, Result};
use crate::transport::options::Options;

/// Sends requests to an HTTP service of another kind, such as a collector of traces, as the client
/// connects to a papir service: with its certificates, its proxy and its errors.
pub struct HttpSender {
    http: HttpAgent,
}

/// A response of any status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpReceived {
    /// The HTTP status.
    pub status: u16,
    /// The body, up to a limit.
    pub body: Vec<u8>,
}

impl HttpSender {
    /// A sender to the service at `url`, with the certificates, the identity and the proxy of
    /// `options`. Connects at the first request.
    ///
    /// # Errors
    /// [`Error::BadUrl`], [`Error::BadCa`], [`Error::BadIdentity`] and [`Error::BadProxy`].
    pub fn new(url: &str, options: &Options) -> Result<Self> {
        let address = Address::parse(url)?;
        Ok(Self {
            http: agent::new(&address, options)?,
        })
    }

    /// Sends a body to an address of the service. The response is read up to `limit` bytes, and
    /// everything ends after `time`.
    ///
    /// # Errors
    /// [`Error::Transport`] if there is no response in time.
    pub fn post(
        &self,
        url: &str,
        headers: &[(&str, &[u8])],
        body: &[u8],
        time: Duration,
        limit: u64,
    ) -> Result<HttpReceived> {
        self.exchange(url, headers, body, time, limit)
            .map_err(|error| Error::Transport {
                url: url.to_owned(),
                source: self.http.failure(error),
            })
    }

    fn exchange(
        &self,
        url: &str,
        headers: &[(&str, &[u8])],
        body: &[u8],
        time: Duration,
        limit: u64,
    ) -> Result<HttpReceived, ureq::Error> {
        let mut request = Request::post(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }

        // The time covers the lookup of the name and the body, too: nothing else ends a silent
        // service.
        let agent = &self.http.agent;
        let configured = agent.configure_request(request.body(body)?);
        let response = agent.run(configured.timeout_global(Some(time)).build())?;

        let (head, body) = response.into_parts();
        let mut bytes = Vec::new();
        body.into_reader().take(limit).read_to_end(&mut bytes)?;
        Ok(HttpReceived {
            status: head.status.as_u16(),
            body: bytes,
        })
    }
}

impl fmt::Debug for HttpSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpSender")
    }
}
