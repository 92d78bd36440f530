//! The HTTP client: timeouts, trusted certificates, proxies.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use ureq::Agent;
use ureq::config::Config;
use ureq::tls::{PemItem, parse_pem};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectProxyConnector, Connector, TcpConnector};

use super::options::Options;
use super::tls::TlsConnector;
use super::tls::verifier::Presented;
use crate::core::Address;
use crate::error::{Error, Result};

/// Timeout of one read or write. A read waits while the server computes an answer.
const READ_TIMEOUT: Duration = Duration::from_secs(120);
/// Longest accepted file of root certificates: 4 MiB.
const MAX_CA_BYTES: u64 = 4 << 20;

/// An agent for one service. With `options.ca` it trusts the root certificates in that file instead
/// of the public ones.
///
/// # Errors
/// [`Error::BadCa`], [`Error::BadIdentity`].
pub(super) fn new(address: &Address, options: &Options) -> Result<Agent> {
    observed(address, options, Presented::default())
}

/// Like [`new`], and stores the server's certificate in `presented`.
///
/// # Errors
/// [`Error::BadCa`], [`Error::BadIdentity`].
pub(super) fn observed(address: &Address, options: &Options, presented: Presented) -> Result<Agent> {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("papir/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(Duration::from_secs(10)))
        .timeout_per_read(Some(READ_TIMEOUT))
        .timeout_per_write(Some(READ_TIMEOUT));
    if address.is_local() {
        // A proxy from the environment must not carry local traffic to another machine.
        config = config.proxy(None);
    }
    let ca = options.ca.as_deref();
    let tls = TlsConnector::new(ca.map(roots).transpose()?, presented, options.identity.as_ref(), |error| {
        bad_ca(ca.unwrap_or(Path::new("the public roots")), error)
    })?;
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
    let chain = ().chain(ConnectProxyConnector::default()).chain(TcpConnector::default()).chain(tls);
    Agent::with_parts(config, chain, DefaultResolver::default())
}

/// All certificates of a PEM file.
fn roots(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let mut pem = Vec::new();
    let file = File::open(path).map_err(|error| bad_ca(path, error))?;
    file.take(MAX_CA_BYTES).read_to_end(&mut pem).map_err(|error| bad_ca(path, error))?;
    let mut certificates = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| bad_ca(path, error))? {
            certificates.push(CertificateDer::from(certificate.der().to_vec()));
        }
    }
    if certificates.is_empty() {
        return Err(bad_ca(path, "contains no PEM certificate"));
    }
    Ok(certificates)
}

fn bad_ca(path: &Path, reason: impl ToString) -> Error {
    Error::BadCa { path: path.to_owned(), reason: reason.to_string() }
}
