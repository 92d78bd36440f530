//! The HTTP client: timeouts, trusted certificates, proxies.

use ureq::Agent;
use ureq::config::Config;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectProxyConnector, Connector, TcpConnector};

use super::tls::TlsConnector;
use crate::core::Address;
use crate::error::Result;
use crate::transport::options::Options;
use crate::transport::verifier::Presented;
use crate::transport::{CONNECT_TIMEOUT, READ_TIMEOUT, USER_AGENT, tls};

/// An agent for one service. With `options.ca` it trusts the root certificates in that file instead
/// of those that the user's environment trusts.
pub(super) fn new(address: &Address, options: &Options) -> Result<Agent> {
    observed(address, options, Presented::default())
}

/// Like [`new`], and stores the server's certificate in `presented`.
pub(super) fn observed(
    address: &Address,
    options: &Options,
    presented: Presented,
) -> Result<Agent> {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(USER_AGENT)
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_per_read(Some(READ_TIMEOUT))
        .timeout_per_write(Some(READ_TIMEOUT));
    if address.is_local() {
        // A proxy from the environment must not carry local traffic to another machine.
        config = config.proxy(None);
    }

    let tls = TlsConnector::new(tls::config(address, options, presented)?);
    Ok(connect(config.build(), address, tls))
}

#[cfg(unix)]
fn connect(config: Config, address: &Address, tls: TlsConnector) -> Agent {
    match address.socket() {
        Some(path) => super::unix::agent(config, path.to_owned()),
        None => over_tcp(config, tls),
    }
}

#[cfg(not(unix))]
fn connect(config: Config, _: &Address, tls: TlsConnector) -> Agent {
    over_tcp(config, tls)
}

/// An agent with ureq's own connectors, except for TLS.
fn over_tcp(config: Config, tls: TlsConnector) -> Agent {
    let chain =
        ().chain(ConnectProxyConnector::default())
            .chain(TcpConnector::default())
            .chain(tls);
    Agent::with_parts(config, chain, DefaultResolver::default())
}
