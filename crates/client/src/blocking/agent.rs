//! The HTTP client: timeouts, trusted certificates, proxies.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use ureq::Agent;
use ureq::config::Config;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use crate::core::Address;
use crate::error::{Error, Result};

/// Timeout of one read or write. A read waits while the server computes an answer.
const READ_TIMEOUT: Duration = Duration::from_secs(120);
/// Longest accepted file of root certificates: 4 MiB.
const MAX_CA_BYTES: u64 = 4 << 20;

/// An agent for one service. If `ca` is given, it trusts the root certificates in that file instead
/// of the public ones.
///
/// # Errors
/// [`Error::BadCa`].
pub(super) fn new(address: &Address, ca: Option<&Path>) -> Result<Agent> {
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
    if let Some(path) = ca {
        config = config.tls_config(TlsConfig::builder().root_certs(roots(path)?).build());
    }
    Ok(connect(config.build(), address))
}

#[cfg(unix)]
fn connect(config: Config, address: &Address) -> Agent {
    match address.socket() {
        Some(path) => super::unix::agent(config, path.to_owned()),
        None => config.into(),
    }
}

#[cfg(not(unix))]
fn connect(config: Config, _: &Address) -> Agent {
    config.into()
}

/// All certificates of a PEM file.
fn roots(path: &Path) -> Result<RootCerts> {
    let bad = |reason: String| Error::BadCa { path: path.to_owned(), reason };
    let mut pem = Vec::new();
    let file = File::open(path).map_err(|error| bad(error.to_string()))?;
    file.take(MAX_CA_BYTES).read_to_end(&mut pem).map_err(|error| bad(error.to_string()))?;
    let mut certificates: Vec<Certificate<'static>> = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| bad(error.to_string()))? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err(bad("contains no PEM certificate".to_owned()));
    }
    Ok(RootCerts::new_with_certs(&certificates))
}
