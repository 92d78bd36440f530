//! Construction of the HTTP client: timeouts, TLS, proxies.

use ureq::config::Config;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{
    ConnectProxyConnector, Connector, SocksConnector, TcpConnector,
};
use ureq::{Agent, Proxy};

use super::failures;
use super::tls::TlsConnector;
use crate::core::{Address, Failure};
use crate::error::Result;
use crate::transport::options::Options;
use crate::transport::proxy::ChosenProxy;
use crate::transport::proxy::failures::through;
use crate::transport::verifier::Presented;
use crate::transport::{CONNECT_TIMEOUT, READ_TIMEOUT, USER_AGENT, tls};

/// An HTTP client for one service, and the data that explain its failures.
#[derive(Clone)]
pub(super) struct HttpAgent {
    pub(super) agent: Agent,
    /// The service's address, for errors.
    base: String,
    /// The proxy of all connections; `None` if they are direct.
    proxy: Option<ChosenProxy>,
}

impl HttpAgent {
    /// Converts ureq's error of a request, and names the proxy in it.
    pub(super) fn failure(&self, error: ureq::Error) -> Failure {
        let failure = failures::failure(error, &self.base);
        through(self.proxy.as_ref(), &self.base, failure)
    }
}

/// Makes the HTTP client for one service. With `options.ca` it trusts only the certificates in that
/// file, else those that the user's environment trusts.
pub(super) fn new(address: &Address, options: &Options) -> Result<HttpAgent> {
    observed(address, options, Presented::default())
}

/// Like [`new`], and stores in `presented` the certificate that the server presents.
pub(super) fn observed(
    address: &Address,
    options: &Options,
    presented: Presented,
) -> Result<HttpAgent> {
    let proxy = options.proxy.for_address(address)?;
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        // A relay needs nothing that tells clients apart.
        .user_agent(match options.relay {
            Some(_) => "",
            None => USER_AGENT,
        })
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_per_read(Some(READ_TIMEOUT))
        .timeout_per_write(Some(READ_TIMEOUT))
        // Also without a proxy: ureq ignores variables that it cannot use, and connects directly.
        .proxy(proxy.as_ref().map(of_ureq).transpose()?)
        .build();

    let tls = TlsConnector::new(tls::config(address, options, presented)?);
    Ok(HttpAgent {
        agent: connect(config, address, tls),
        base: address.base().to_owned(),
        proxy,
    })
}

/// Converts the proxy for ureq. The proxy resolves the names of hosts.
fn of_ureq(proxy: &ChosenProxy) -> Result<Proxy> {
    Proxy::new(&proxy.address.url()).map_err(|error| proxy.unusable(error))
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
            .chain(SocksConnector::default())
            .chain(TcpConnector::default())
            .chain(tls);
    Agent::with_parts(config, chain, DefaultResolver::default())
}
