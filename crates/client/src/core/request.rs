//! HTTP requests and responses as values.

use std::fmt;
use std::sync::Arc;

use papir_checkpoint::GatewayKeys;
use papir_protocol::{header, limit};
use zeroize::Zeroizing;

/// Largest length of a body that is read, in bytes: 4 GiB. It holds for any length that the server
/// announces.
const MAX_BODY_BYTES: u64 = 4 << 30;

/// A transport's own error.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`.
    Get,
    /// `POST`.
    Post,
    /// `PATCH`.
    Patch,
    /// `DELETE`.
    Delete,
}

impl Method {
    /// The method's name in HTTP.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// One header of a request. Its value may be a token, so it is wiped when dropped and never
/// printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    /// The name, in lower case.
    pub name: &'static str,
    /// The value.
    pub value: Zeroizing<String>,
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: …", self.name)
    }
}

/// A request for a transport to send. The transport sends exactly these headers in this order, and
/// adds only headers of HTTP itself (`host`, `content-length`, `user-agent`, `accept`). It must not
/// follow redirects.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path below the service's address, starting with a slash.
    pub path: String,
    /// The headers.
    pub headers: Vec<Header>,
    /// The body; `None` for methods without one.
    pub body: Option<Arc<Vec<u8>>>,
    accepted: Accepted,
    gateways: Option<Arc<GatewayKeys>>,
}

/// The part of a successful response's body that is read.
#[derive(Clone, Debug)]
pub(crate) enum Accepted {
    /// No part of the body.
    Nothing,
    /// At most this number of bytes.
    UpTo(u64),
    /// At most this number of bytes; nothing if the response is from another version than this one.
    OfVersion(String, u64),
}

impl Request {
    pub(crate) fn new(method: Method, path: &str, accepted: Accepted) -> Self {
        Self {
            method,
            path: path.to_owned(),
            headers: Vec::new(),
            body: None,
            accepted,
            gateways: None,
        }
    }

    pub(crate) fn get(path: &str, accepted: Accepted) -> Self {
        Self::new(Method::Get, path, accepted)
    }

    pub(crate) fn with_header(
        mut self,
        name: &'static str,
        value: impl Into<Zeroizing<String>>,
    ) -> Self {
        self.headers.push(Header {
            name,
            value: value.into(),
        });
        self
    }

    pub(crate) fn with_body(mut self, body: Arc<Vec<u8>>) -> Self {
        self.body = Some(body);
        self
    }

    /// Adds a body of this media type.
    pub(crate) fn with_content(self, media_type: &str, body: Arc<Vec<u8>>) -> Self {
        self.with_header(header::CONTENT_TYPE, media_type.to_owned())
            .with_body(body)
    }

    /// Limits the keys for which the request may be sealed.
    pub(crate) fn for_gateways(self, gateways: Option<Arc<GatewayKeys>>) -> Self {
        Self { gateways, ..self }
    }

    /// The keys of gateways for which a transport through a relay may seal the request; `None` if
    /// it may use any.
    pub fn gateways(&self) -> Option<&GatewayKeys> {
        self.gateways.as_deref()
    }

    /// The value of a header; `None` if the request does not have it. `name` is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|header| header.name == name)
            .map(|header| header.value.as_str())
    }

    /// Maximum number of bytes of the response's body that the transport reads; `None` for no body.
    /// The transport discards the rest. `version` is the value of the response's header
    /// [`header::VERSION`].
    ///
    /// The limit is one byte more than the longest accepted body, so that a longer one is detected.
    pub fn body_limit(&self, status: u16, version: Option<&str>) -> Option<u64> {
        if !(200..=299).contains(&status) {
            // Errors have their own limit, whatever the request expected: a page of a proxy may be
            // long.
            return Some(limit::JSON_BYTES + 1);
        }

        match &self.accepted {
            Accepted::Nothing => None,
            Accepted::UpTo(most) => Some(bounded(*most) + 1),
            Accepted::OfVersion(expected, most) => {
                // The public part of another version is not read: it may have gigabytes, and would
                // be refused.
                (version == Some(expected.as_str())).then(|| bounded(*most) + 1)
            }
        }
    }

    /// The largest [`Request::body_limit`] over all statuses and versions.
    #[cfg(feature = "relay")]
    pub(crate) fn most_bytes(&self) -> u64 {
        let most = match &self.accepted {
            Accepted::Nothing => 0,
            Accepted::UpTo(most) | Accepted::OfVersion(_, most) => bounded(*most),
        };
        most.max(limit::JSON_BYTES) + 1
    }
}

/// A response, whose body was read up to [`Request::body_limit`].
#[derive(Debug)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The headers, with names in lower case. Values that are not text may be left out.
    pub headers: Vec<(String, String)>,
    /// The body, or the failure that interrupted it.
    pub body: Result<Vec<u8>, Failure>,
}

#[cfg(feature = "relay")]
impl Response {
    /// A response with this status and these headers, and an empty body. A header is left out if
    /// its value is not text, which `None` stands for.
    pub(crate) fn of_head<'a>(
        status: u16,
        headers: impl Iterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Self {
        let headers = headers
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        Self {
            status,
            headers,
            body: Ok(Vec::new()),
        }
    }

    /// The limit for this response's body, as [`Request::body_limit`] of the response's request.
    pub(crate) fn limit(&self, request: &Request) -> Option<u64> {
        request.body_limit(self.status, self.header(header::VERSION))
    }
}

impl Response {
    /// The first value of a header; `None` if the response does not have it. `name` is in lower
    /// case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns true if the status is 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..=299).contains(&self.status)
    }
}

/// The limit on a body's length, reduced to [`MAX_BODY_BYTES`].
pub(crate) fn bounded(limit: u64) -> u64 {
    limit.min(MAX_BODY_BYTES)
}
