//! Construction of the HTTP client: timeouts, TLS, proxies, sockets.

use std::net::Ipv6Addr;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Proxy, retry};

use super::certificate_request::CertificateRequest;
use crate::core::Address;
use crate::error::{Error, Result};
use crate::transport::options::Options;
use crate::transport::proxy::ChosenProxy;
use crate::transport::verifier::Presented;
use crate::transport::{CONNECT_TIMEOUT, USER_AGENT, tls};

/// Time after which a relay closes a connection that it does not use. It is shorter than a papir
/// service's own: a request that cannot be repeated must not meet a connection that is closing.
const RELAY_IDLE: Duration = Duration::from_secs(10);

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
    let usage = match options.relay {
        Some(_) => HttpUse::Sealed,
        None => HttpUse::Lookups,
    };
    build(address, options, usage)
}

/// Like [`client`], for a relay.
pub(super) fn relay_client(address: &Address, options: &Options) -> Result<ProxiedClient> {
    build(address, options, HttpUse::Relay)
}

/// The use of an HTTP client.
#[derive(Clone, Copy)]
enum HttpUse {
    /// Requests of one user, to a service.
    Lookups,
    /// Sealed requests of one user, to a relay, which must not show the program.
    Sealed,
    /// Requests of many users, which must not show the program. They use HTTP/1.1: a service limits
    /// the concurrent requests of a connection of HTTP/2.
    Relay,
}

impl HttpUse {
    fn protocols(self) -> Vec<Vec<u8>> {
        match self {
            Self::Lookups | Self::Sealed => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            Self::Relay => vec![b"http/1.1".to_vec()],
        }
    }

    fn add_to(self, builder: ClientBuilder) -> ClientBuilder {
        match self {
            Self::Lookups => builder.user_agent(USER_AGENT),
            Self::Sealed => builder,
            Self::Relay => builder.http1_only().pool_idle_timeout(RELAY_IDLE),
        }
    }
}

fn build(address: &Address, options: &Options, usage: HttpUse) -> Result<ProxiedClient> {
    let proxy = options.proxy.for_address(address)?;
    if let Some(chosen) = &proxy {
        check_name(address, chosen)?;
    }

    let mut tls = tls::config(address, options, Presented::default())?;
    // reqwest sets these for its own settings of TLS only, and would never use HTTP/2.
    tls.alpn_protocols = usage.protocols();
    let certificate = CertificateRequest::observe(&mut tls);

    let mut builder = usage
        .add_to(Client::builder())
        .tls_backend_preconfigured(tls)
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
