//! Requests that a relay forwards to a service.

use std::error::Error as StdError;
use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Body as HttpBody;
use reqwest::{Body, Url};

use super::failures::failure;
use super::http::{self, ProxiedClient};
use crate::core::Address;
use crate::error::{Error, Result};
use crate::transport::options::Options;
use crate::transport::proxy::failures::through;

/// Forwards requests to one service, with bodies that are streamed both ways. Clones are cheap and
/// share connections.
///
/// It adds no headers but those that HTTP requires, follows no redirects, does not retry, and has
/// no time limit but the one for connecting. Of the options only the certificates, the identity and
/// the proxy count.
#[derive(Clone)]
pub struct Forwarding {
    http: ProxiedClient,
    base: Arc<str>,
}

impl Forwarding {
    /// Forwards to the service at `url`. Connects at the first request.
    ///
    /// # Errors
    /// [`Error::BadUrl`], [`Error::BadCa`], [`Error::BadIdentity`], and [`Error::BadProxy`].
    pub fn new(url: &str, options: &Options) -> Result<Self> {
        let address = Address::parse(url)?;
        Ok(Self {
            http: http::relay_client(&address, options)?,
            base: address.base().into(),
        })
    }

    /// Sends a request, whose address is only a path. Completes with the head of the response.
    ///
    /// # Errors
    /// [`Error::Transport`] if the service cannot be reached, or the body of the request fails.
    pub async fn send<B>(&self, request: hyper::Request<B>) -> Result<hyper::Response<Body>>
    where
        B: HttpBody<Data = Bytes> + Send + Sync + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let url = format!("{}{}", self.base, parts.uri.path());
        let url = Url::parse(&url).map_err(|error| self.error(error.into()))?;

        let mut forwarded = reqwest::Request::new(parts.method, url);
        *forwarded.headers_mut() = parts.headers;
        if !body.is_end_stream() {
            *forwarded.body_mut() = Some(Body::wrap(body));
        }

        let received = self.http.client.execute(forwarded).await;
        let received = received.map_err(|error| {
            let failure = self.http.certificate.explain(failure(error, &self.base));
            self.error(through(self.http.proxy.as_ref(), &self.base, failure))
        })?;
        self.http.certificate.satisfied();
        Ok(received.into())
    }

    fn error(&self, source: Box<dyn StdError + Send + Sync>) -> Error {
        Error::Transport {
            url: self.base.to_string(),
            source,
        }
    }
}
