//! Settings of a relay, and the transport to a gateway.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};

use super::upload::RelayUpload;
use crate::admission::Rate;
use crate::listen::{Listen, TlsFiles};
use crate::service::{Protection, ServerConfig, StateObserver};

/// Longest sealed request by default, in bytes.
const MAX_REQUEST: u64 = 128 << 20;
/// Time limit for a gateway's answer. It waits for its turn and computes meanwhile.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(120);

/// Settings of a relay.
#[derive(Clone)]
pub struct RelayConfig {
    /// The address to listen on.
    pub listen: Listen,
    /// The gateways that requests are forwarded to.
    pub gateways: Vec<RelayGateway>,
    /// Certificate and key; `None` for plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Sustained rate of requests from one address; `None` for no limit.
    pub rate: Option<Rate>,
    /// Longest sealed request, in bytes.
    pub max_request: u64,
    /// Most open connections of clients.
    pub max_connections: usize,
    /// Time limit for the headers of a request, including the TLS handshake, and between two
    /// requests.
    pub header_timeout: Duration,
    /// Time limit for the body of a request, for a client to read more of a response, and for a
    /// pause of the gateway within a response.
    pub body_timeout: Duration,
    /// Time limit for the head of a gateway's response, after the time for the request.
    pub response_timeout: Duration,
    /// Time for which running requests are finished after the stop.
    pub stop_timeout: Duration,
    /// Receives the states of the relay.
    pub on_state: Option<StateObserver>,
}

impl Default for RelayConfig {
    /// No gateways, TLS or rate; the times and the limit on connections of a server.
    fn default() -> Self {
        let server = ServerConfig::default();
        let protection = Protection::default();

        Self {
            listen: server.listen,
            gateways: Vec::new(),
            tls: None,
            rate: None,
            max_request: MAX_REQUEST,
            max_connections: protection.max_connections,
            header_timeout: protection.header_timeout,
            body_timeout: server.body_timeout,
            response_timeout: RESPONSE_TIMEOUT,
            stop_timeout: server.stop_timeout,
            on_state: None,
        }
    }
}

/// A gateway that a relay forwards to.
#[derive(Clone)]
pub struct RelayGateway {
    /// Its host in lower case, and its port unless it is the default one.
    pub authority: String,
    /// The connections to it.
    pub transport: Arc<dyn RelayTransport>,
}

impl fmt::Debug for RelayGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RelayGateway({})", self.authority)
    }
}

/// The failure of an exchange with a gateway. It names no client.
pub type GatewayFailure = Box<dyn std::error::Error + Send + Sync>;

/// An exchange with a gateway: completes with the head of the response.
pub type RelayExchange =
    Pin<Box<dyn Future<Output = Result<Response<Body>, GatewayFailure>> + Send + 'static>>;

/// Sends requests to one gateway.
pub trait RelayTransport: Send + Sync + 'static {
    /// Sends a request, whose address is only a path, with its headers and no others of a client.
    /// Follows no redirects, and does not retry.
    fn send(&self, request: Request<RelayUpload>) -> RelayExchange;
}
