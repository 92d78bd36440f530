//! An issuer of tokens: its listener, and its stop.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::task::{JoinSet, spawn_blocking};

use super::config::IssuerConfig;
use super::issuance::TokenIssuer;
use super::routes::{IssuerState, routes};
use crate::error::Error;
use crate::standalone::{StandaloneServer, StandaloneSettings};

/// A listening issuer of tokens. Stops when dropped.
pub struct BoundIssuer {
    server: StandaloneServer,
    issuer: Arc<TokenIssuer>,
    /// Watches the token files, and rotates keys.
    watching: JoinSet<()>,
}

impl BoundIssuer {
    /// Reads keys, counts and bearer tokens, makes missing files of keys and counts, and listens.
    ///
    /// # Errors
    /// [`Error::IssuerKeys`], [`Error::IssuedCounts`], [`Error::Tokens`], [`Error::TokenFormat`],
    /// [`Error::FewDailyTokens`]; [`Error::Listen`], and [`Error::Tls`].
    pub async fn bind(config: IssuerConfig) -> Result<Self, Error> {
        // A new key takes up to seconds.
        let given = config.clone();
        let opening = spawn_blocking(move || TokenIssuer::open(&given));
        let opened = opening.await.map_err(|source| Error::Io {
            what: "reading the issuer's keys",
            source: std::io::Error::other(source),
        })?;
        let issuer = Arc::new(opened?);

        let state = Arc::new(IssuerState {
            issuer: Arc::clone(&issuer),
            body_timeout: config.body_timeout,
        });
        let settings = StandaloneSettings {
            name: "issuer",
            listen: config.listen,
            tls: config.tls,
            max_connections: config.max_connections,
            header_timeout: config.header_timeout,
            body_timeout: config.body_timeout,
            stop_timeout: config.stop_timeout,
            on_state: config.on_state,
        };
        let server = StandaloneServer::bind(routes(state), settings).await?;
        let watching = issuer.watch();
        Ok(Self {
            server,
            issuer,
            watching,
        })
    }

    /// The bound address and port; `None` for a Unix socket.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.server.local_addr()
    }

    /// The URL for clients: `http://…`, `https://…` or `unix:…`.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Issues tokens until `shutdown` completes. Then no new requests are accepted, and the running
    /// ones are finished, for at most the configured time. Each SIGHUP reads the certificate, the
    /// bearer tokens and the keys again.
    ///
    /// # Errors
    /// [`Error::Io`] if the accepting task ended abnormally.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let Self {
            server,
            issuer,
            watching,
        } = self;
        let ended = server.serve(shutdown, || issuer.reload()).await;
        drop(watching);
        ended
    }
}
