//! Construction of the HTTP client: timeouts, TLS, proxies, sockets.

use std::net::Ipv6Addr;

use reqwest::redirect::Policy;
use reqwest::{Client, Proxy, retry};

use super::certificate_request::CertificateRequest;
use crate::core::Address;
use crate::error::{Error, Result};
use crate::transport::options::Options;
use crate::transport::proxy::ChosenProxy;
use crate::transport::verifier::Presented;
use crate::transport::{CONNECT_TIMEOUT, USER_AGENT, tls};

/// An HTTP client for one service, and the data that explain its failures.
#[derive(Clone)]
pub(super) struct ProxiedClient {
    pub(super) client: Client,
    /// Observes the service's requests for a certificate.
    pub(super) certificate: CertificateRequest,
    /// The proxy of all connections; `None` if they are direct.
    pub(super) proxy: Option<ChosenProxy>,
}

/// Makes the HTTP client for one service. With `options.ca` it trusts only the certificates in that
/// file, else those that the user's environment trusts.
pub(super) fn client(address: &Address, options: &Options) -> Result<ProxiedClient> {
    let proxy = options.proxy.for_address(address)?;
    if let Some(chosen) = &proxy {
        check_name(address, chosen)?;
    }

    let mut tls = tls::config(address, options, Presented::default())?;
    // reqwest sets these for its own settings of TLS only, and would never use HTTP/2.
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let certificate = CertificateRequest::observe(&mut tls);

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
        .no_deflate()
        // reqwest ignores variables that it cannot use, and connects directly.
        .no_proxy();
    if let Some(chosen) = &proxy {
        builder = builder.proxy(of_reqwest(chosen)?);
    }
    #[cfg(unix)]
    if let Some(socket) = address.socket() {
        builder = builder.unix_socket(socket);
    }

    let client = builder.build().map_err(|error| Error::Transport {
        url: address.base().to_owned(),
        source: Box::new(error),
    })?;
    Ok(ProxiedClient {
        client,
        certificate,
        proxy,
    })
}

/// Refuses an `https` service at an IPv6 address behind a proxy. Within the proxy's tunnel, reqwest
/// takes the host with its brackets for the name in the certificate, and gives up after `CONNECT`
/// with words that name neither.
fn check_name(address: &Address, chosen: &ChosenProxy) -> Result<()> {
    if address.is_https() && address.host().parse::<Ipv6Addr>().is_ok() {
        return Err(chosen.unusable(
            "the asynchronous client reaches no https service at an IPv6 address through a proxy: \
             use the service's name, or connect directly",
        ));
    }
    Ok(())
}

/// The proxy as reqwest's. It resolves the names of hosts.
fn of_reqwest(chosen: &ChosenProxy) -> Result<Proxy> {
    Proxy::all(chosen.address.url()).map_err(|error| chosen.unusable(error.without_url()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_https_service_at_an_ipv6_address_is_refused_behind_a_proxy() {
        for (url, proxy, is_refused) in [
            ("https://[2001:db8::1]:7470", "http://p", true),
            ("https://[2001:db8::1]", "socks5://p", true),
            ("https://[2001:db8::1]", "none", false),
            ("http://[2001:db8::1]", "http://p", false),
            ("https://192.0.2.1", "http://p", false),
            ("https://h", "http://p", false),
        ] {
            let options = Options::default().proxy(proxy.parse().unwrap());
            let address = Address::parse(url).unwrap();
            let made = client(&address, &options).map(drop);
            assert_eq!(made.is_err(), is_refused, "{url} {proxy}");
            if let Err(error) = made {
                let text = error.to_string();
                assert!(text.contains("use the service's name"), "{text}");
            }
        }
    }
}
