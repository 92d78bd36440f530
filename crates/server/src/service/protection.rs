//! TLS, tokens and per-client limits.

use std::sync::Arc;
use std::time::Duration;

use crate::access::{Grant, ListedRelays, Origin, TokenSource, Tokens, TrustedProxies};
use crate::admission::{ClientKey, ClientLimiter, ClientLimits};
use crate::error::Error;
use crate::listen::{Peer, Tls, TlsFiles};

/// Access restrictions and per-client limits. None are set by default.
#[derive(Clone, Debug, PartialEq)]
pub struct Protection {
    /// Certificate and key; `None` for plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Token files; if empty, no token is required.
    pub tokens: Vec<TokenSource>,
    /// Limits for each client.
    pub limits: ClientLimits,
    /// Time limit for the headers of a request, including the TLS handshake, and between two
    /// requests.
    pub header_timeout: Duration,
    /// Proxies trusted to forward client addresses.
    pub proxies: TrustedProxies,
    /// Relays whose clients have places of their own.
    pub relays: ListedRelays,
    /// Web origins whose pages may use the service; none by default.
    pub origins: Vec<Origin>,
    /// Most open connections. Beyond this, one of the network with the most connections is closed.
    pub max_connections: usize,
}

impl Default for Protection {
    /// No TLS, tokens or client limits; 20 s for headers; 2,048 connections.
    fn default() -> Self {
        Self {
            tls: None,
            tokens: Vec::new(),
            limits: ClientLimits::default(),
            proxies: TrustedProxies::default(),
            relays: ListedRelays::default(),
            origins: Vec::new(),
            header_timeout: Duration::from_secs(20),
            max_connections: 2048,
        }
    }
}

/// State that checks requests while the service runs.
pub(crate) struct Guard {
    pub(crate) tls: Option<Arc<Tls>>,
    /// True if clients without a certificate are refused in the handshake.
    pub(crate) asks_certificates: bool,
    pub(crate) tokens: Option<Arc<Tokens>>,
    pub(crate) limiter: Arc<ClientLimiter>,
    pub(crate) proxies: TrustedProxies,
    relays: ListedRelays,
    pub(crate) origins: Vec<Origin>,
}

impl Guard {
    /// Reads the certificate and tokens.
    pub(crate) fn new(protection: &Protection) -> Result<Self, Error> {
        let tls = match &protection.tls {
            Some(files) => Some(Arc::new(Tls::open(files)?)),
            None => None,
        };
        let files = protection.tls.as_ref();
        let asks_certificates = files.is_some_and(|files| files.clients.is_some());

        // Without sources there is no check at all. A source without tokens refuses everybody.
        let tokens = if protection.tokens.is_empty() {
            None
        } else {
            Some(Arc::new(Tokens::open(&protection.tokens)?))
        };

        Ok(Self {
            tls,
            asks_certificates,
            tokens,
            limiter: ClientLimiter::new(protection.limits),
            proxies: protection.proxies.clone(),
            relays: protection.relays.clone(),
            origins: protection.origins.clone(),
        })
    }

    /// The client that a request with these permissions counts for.
    pub(crate) fn client(&self, grant: &Grant, peer: Peer) -> ClientKey {
        ClientKey::of(grant, peer, &self.relays)
    }

    /// Reads the certificate and tokens again. Invalid files leave the previous ones in use.
    pub(crate) fn reload(&self) {
        if let Some(tls) = &self.tls {
            tls.reload();
        }
        if let Some(tokens) = &self.tokens {
            tokens.reload();
        }
    }
}
