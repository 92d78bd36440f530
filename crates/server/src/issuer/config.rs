//! Settings of an issuer.

use std::path::PathBuf;
use std::time::Duration;

use crate::access::TokenSource;
use crate::listen::{Listen, TlsFiles};
use crate::service::{Protection, ServerConfig, StateObserver};

/// Tokens a day for each client by default: 32 batches.
const DAILY: u32 = 1024;
/// Requests that are signed at the same time by default. Each keeps one core busy.
const THREADS: usize = 2;

/// Settings of an issuer.
#[derive(Clone)]
pub struct IssuerConfig {
    /// The address to listen on.
    pub listen: Listen,
    /// The file with the private keys. The first start makes it.
    pub keys: PathBuf,
    /// The file with the numbers of issued tokens. The first start makes it.
    pub counts: PathBuf,
    /// The bearer tokens of clients, which need the scope `query`. A name in these files counts as
    /// one client.
    pub tokens: Vec<TokenSource>,
    /// Tokens that each client receives in a day, UTC. At least one batch.
    pub daily: u32,
    /// Certificate and key; `None` for plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Requests that are signed at the same time. At least 1.
    pub threads: usize,
    /// Most open connections of clients.
    pub max_connections: usize,
    /// Time limit for the headers of a request, including the TLS handshake, and between two
    /// requests.
    pub header_timeout: Duration,
    /// Time limit for the body of a request, and for a client to read more of a response.
    pub body_timeout: Duration,
    /// Time for which running requests are finished after the stop.
    pub stop_timeout: Duration,
    /// Receives the states of the issuer.
    pub on_state: Option<StateObserver>,
}

impl IssuerConfig {
    /// An issuer with these files, for the clients with these bearer tokens. The address, the times
    /// and the limit on connections are those of a server by default; there is no TLS.
    pub fn new(
        keys: impl Into<PathBuf>,
        counts: impl Into<PathBuf>,
        tokens: Vec<TokenSource>,
    ) -> Self {
        let server = ServerConfig::default();
        let protection = Protection::default();

        Self {
            listen: server.listen,
            keys: keys.into(),
            counts: counts.into(),
            tokens,
            daily: DAILY,
            tls: None,
            threads: THREADS,
            max_connections: protection.max_connections,
            header_timeout: protection.header_timeout,
            body_timeout: server.body_timeout,
            stop_timeout: server.stop_timeout,
            on_state: None,
        }
    }
}
