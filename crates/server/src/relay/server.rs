//! A relay: its listener, and its stop.

use std::net::SocketAddr;
use std::sync::Arc;

use super::config::RelayConfig;
use super::routes::{RelayState, routes};
use crate::error::Error;
use crate::standalone::{StandaloneServer, StandaloneSettings};

/// A listening relay. Stops when dropped.
pub struct BoundRelay(StandaloneServer);

impl BoundRelay {
    /// Listens, and forwards requests from then on. Connects to no gateway before a client asks.
    ///
    /// # Errors
    /// [`Error::Listen`], and [`Error::Tls`].
    pub async fn bind(config: RelayConfig) -> Result<Self, Error> {
        let state = Arc::new(RelayState::new(&config));
        let settings = StandaloneSettings {
            name: "relay",
            listen: config.listen,
            tls: config.tls,
            max_connections: config.max_connections,
            header_timeout: config.header_timeout,
            body_timeout: config.body_timeout,
            stop_timeout: config.stop_timeout,
            on_state: config.on_state,
        };
        let bound = StandaloneServer::bind(routes(state), settings).await?;
        Ok(Self(bound))
    }

    /// The bound address and port; `None` for a Unix socket.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.0.local_addr()
    }

    /// The URL for clients: `http://…`, `https://…` or `unix:…`.
    pub fn url(&self) -> String {
        self.0.url()
    }

    /// Forwards requests until `shutdown` completes. Then no new ones are accepted, and the running
    /// ones are finished, for at most the configured time. Each SIGHUP reads the certificate and
    /// its key again.
    ///
    /// # Errors
    /// [`Error::Io`] if the accepting task ended abnormally.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        self.0.serve(shutdown, || {}).await
    }
}
