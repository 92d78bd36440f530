//! Requests to the network, and JavaScript's replies to them.

use papir_client::core::{Failure, Request, Response};
use serde::{Deserialize, Serialize};

use crate::event::{Body, Event, Head, Reply};
use crate::paused::{Paused, waiting};

/// The use of a response, or of the failure of its request.
pub(crate) type Resumption = Box<dyn FnOnce(Result<Response, Failure>) -> Box<Event>>;

/// The peer that a request is sent to.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Destination {
    /// The service, or the relay before it.
    Service,
    /// The issuer of tokens.
    #[cfg(feature = "tokens")]
    Issuer,
}

/// The head of a request's event. Its headers may have a token, so it is not copied to a JSON
/// value.
#[derive(Serialize)]
pub(crate) struct SendHead<'a> {
    kind: &'static str,
    to: Destination,
    method: &'static str,
    path: &'a str,
    headers: Vec<(&'static str, &'a str)>,
}

impl<'a> SendHead<'a> {
    /// A request to a path below the address of the service or of its relay.
    pub(crate) fn new(
        method: &'static str,
        path: &'a str,
        headers: Vec<(&'static str, &'a str)>,
    ) -> Self {
        Self {
            kind: "send",
            to: Destination::Service,
            method,
            path,
            headers,
        }
    }
}

/// The head of a reply to a request.
#[derive(Deserialize)]
struct Received {
    /// Set if there was no response.
    failure: Option<String>,
    #[serde(default)]
    status: u16,
    #[serde(default)]
    headers: Vec<(String, String)>,
    /// Set if the body broke off.
    broken: Option<String>,
}

/// The response in a reply, or the failure of the request.
pub(crate) fn response(mut reply: Reply) -> Result<Response, Failure> {
    let received: Received = serde_json::from_slice(&reply.head)?;
    if let Some(failure) = received.failure {
        return Err(failure.into());
    }

    let body = match received.broken {
        Some(reason) => Err(reason.into()),
        // Taken, not copied: a public part may have many megabytes.
        None => Ok(std::mem::take(&mut *reply.body)),
    };
    Ok(Response {
        status: received.status,
        headers: received.headers,
        body,
    })
}

/// A request that is not sealed, and waits for its response.
struct DirectExchange {
    request: Request,
    then: Resumption,
}

/// Sends a request as it is.
pub(crate) fn send(to: Destination, request: Request, then: Resumption) -> Box<Event> {
    let headers: Vec<_> = request
        .headers
        .iter()
        .map(|header| (header.name, header.value.as_str()))
        .collect();

    let method = request.method.name();
    let head = Head::from(&SendHead {
        to,
        ..SendHead::new(method, &request.path, headers)
    });
    let body = request.body.clone().map_or(Body::None, Body::Shared);
    waiting(head, body, Box::new(DirectExchange { request, then }))
}

impl Paused for DirectExchange {
    fn body_limit(&self, status: u16, version: Option<&str>) -> Option<u64> {
        self.request.body_limit(status, version)
    }

    fn resume(self: Box<Self>, reply: Reply) -> Box<Event> {
        (self.then)(response(reply))
    }
}
