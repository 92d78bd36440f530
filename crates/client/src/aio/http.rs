//! The HTTP client: timeouts, trusted certificates, proxies, and sockets.

use reqwest::redirect::Policy;
use reqwest::{Client, retry};

use super::certificate_request::CertificateRequest;
use crate::core::Address;
use crate::error::{Error, Result};
use crate::transport::options::Options;
use crate::transport::verifier::Presented;
use crate::transport::{CONNECT_TIMEOUT, USER_AGENT, tls};

/// A client for one service. With `options.ca` it trusts the root certificates in that file instead
/// of those that the user's environment trusts. Also returns an observer of the service's requests for a certificate.
pub(super) fn client(address: &Address, options: &Options) -> Result<(Client, CertificateRequest)> {
    let mut tls = tls::config(address, options, Presented::default())?;
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let request = CertificateRequest::observe(&mut tls);

    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(Policy::none())
        // The core decides on retries.
        .retry(retry::never())
        .referer(false)
        // Other crates of an application may enable these features.
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate();
    if address.is_local() {
        // A proxy from the environment must not carry local traffic to another machine.
        builder = builder.no_proxy();
    }
    #[cfg(unix)]
    if let Some(socket) = address.socket() {
        builder = builder.unix_socket(socket);
    }

    let client = builder.build().map_err(|error| Error::Transport {
        url: address.base().to_owned(),
        source: Box::new(error),
    })?;
    Ok((client, request))
}
