//! Configuration of TLS for both transports.

use std::sync::Arc;

use papir_tls::{RootList, RootsError};
use rustls::client::WantsClientCert;
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, ConfigBuilder};

use super::identity;
use super::options::Options;
use super::verifier::{ObservedVerifier, Presented};
use crate::core::Address;
use crate::error::{Error, Result};

/// The configuration of TLS for connections to `address`. It trusts the certificates in the file
/// `options.ca` or, without it, those that the user's environment trusts. It presents the client's
/// certificate, if there is one, and stores the certificates of servers in `presented`.
pub(crate) fn config(
    address: &Address,
    options: &Options,
    presented: Presented,
) -> Result<ClientConfig> {
    let roots = roots(address, options)?;
    let builder = verifying(&roots, presented).map_err(|error| Error::BadCa {
        path: roots.source().to_string().into(),
        reason: error.to_string(),
    })?;
    identity::present(builder, options.identity.as_ref())
}

/// The certificates that a connection to this address trusts. The file `options.ca` is read for
/// every address, so that errors in it are found. Other certificates are read only for connections
/// with TLS.
///
/// # Errors
/// [`Error::BadCa`] if the file, or a file that a variable names, has no valid certificate, and
/// [`Error::BadProxy`].
pub(crate) fn roots(address: &Address, options: &Options) -> Result<RootList> {
    if options.ca.is_none() && !uses_tls(address, options)? {
        return Ok(RootList::bundled());
    }
    RootList::choose(options.ca.as_deref()).map_err(bad_ca)
}

/// Returns true if a connection uses TLS, with the service or with its proxy.
fn uses_tls(address: &Address, options: &Options) -> Result<bool> {
    let proxy = options.proxy.for_address(address)?;
    Ok(address.is_https() || proxy.is_some_and(|proxy| proxy.address.is_https()))
}

fn bad_ca(error: RootsError) -> Error {
    match error {
        RootsError::File { path, reason } => Error::BadCa { path, reason },
        RootsError::Variable { name, path, reason } => Error::BadCa {
            path,
            reason: format!("{reason} (the variable {name} names it)"),
        },
    }
}

/// Starts a configuration of TLS that verifies servers' certificates against `roots`.
fn verifying(
    roots: &RootList,
    presented: Presented,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, rustls::Error> {
    let provider = Arc::new(default_provider());
    let verifier = ObservedVerifier::new(roots, presented, Arc::clone(&provider))?;
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_needed_for_the_service_or_for_its_proxy() {
        for (url, proxy, expected) in [
            ("https://h", "none", true),
            ("https://h", "http://p", true),
            ("http://h", "https://p", true),
            ("http://h", "http://p", false),
            ("http://h", "socks5://p", false),
            ("http://h", "none", false),
        ] {
            let options = Options::default().proxy(proxy.parse().unwrap());
            let address = Address::parse(url).unwrap();
            assert_eq!(
                uses_tls(&address, &options).unwrap(),
                expected,
                "{url} {proxy}"
            );
        }
    }
}
