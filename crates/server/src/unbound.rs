//! A service whose requests another server receives.

use std::convert::Infallible;
use std::net::IpAddr;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use crate::catalog::{Catalog, Database};
use crate::error::Error;
use crate::http::router;
use crate::listen::Peer;
use crate::service::{ReloadHandle, Running, ServerConfig};

/// A service without a listener, for programs that receive requests themselves.
///
/// Routes, tokens, limits, metrics and versions work as in [`Server`](crate::Server). The program
/// itself provides TLS and limits on connections.
pub struct UnboundServer {
    running: Running,
    router: Router,
}

impl UnboundServer {
    /// Serves databases that are in memory, from a runtime of tokio. Ignores the addresses, the
    /// snapshots, the set for intersection and the limits on connections of `config`. A reload does
    /// not affect the databases: replace them by the [`reload_handle`](Self::reload_handle).
    ///
    /// # Errors
    /// [`Error::NoDatabases`], and the errors of
    /// [`Server::bind_loaded`](crate::Server::bind_loaded) except [`Error::Listen`].
    pub fn new(config: &ServerConfig, databases: Vec<Database>) -> Result<Self, Error> {
        if databases.is_empty() {
            return Err(Error::NoDatabases);
        }

        let catalog = Catalog::of_loaded(databases, config.catalog_options())?;
        let running = Running::start(config, catalog, None)?;
        Ok(Self {
            router: router(&running.app),
            running,
        })
    }

    /// A handle to replace databases.
    pub fn reload_handle(&self) -> ReloadHandle {
        ReloadHandle::new(&self.running.app)
    }

    /// The most bytes of queries that a request may have. A program that receives requests need not
    /// take more.
    pub fn most_query_bytes(&self) -> usize {
        self.running.app.catalog.body_limit()
    }

    /// Responds to one request of a client at this address; `None` for a client on this machine.
    pub async fn respond(
        &self,
        request: Request<Bytes>,
        client: Option<IpAddr>,
    ) -> Response<Bytes> {
        let mut request = request.map(Body::from);
        request
            .extensions_mut()
            .insert(client.map_or(Peer::Local, Peer::Address));

        let responded: Result<_, Infallible> = TowerToHyperService::new(self.router.clone())
            .call(request)
            .await;
        let Ok(response) = responded;

        let (parts, body) = response.into_parts();
        // Bodies of this service are in memory: collecting them does not fail.
        let body = body
            .collect()
            .await
            .map(|body| body.to_bytes())
            .unwrap_or_default();
        Response::from_parts(parts, body)
    }
}
