//! HTTP clients of object stores: trusted certificates and proxies.

use std::fmt;
use std::time::Duration;

use object_store::client::{HttpClient, HttpConnector, ReqwestConnector};
use object_store::{ClientConfigKey, ClientOptions};
use papir_tls::{Exclusions, RootList, client_config};
use reqwest::{Client, ClientBuilder, NoProxy, Proxy, Url};
use rustls::ClientConfig;

use super::address::StoreProxy;
use super::resolver::ShufflingResolver;

/// Makes the HTTP clients of one store.
///
/// The library's own clients trust a server's own certificate only if it may not sign others, and
/// ignore the ports of excluded hosts. These verify and exclude as all of papir's connections do,
/// and shuffle the addresses of a host as the library's do.
pub(super) struct StoreConnector {
    tls: ClientConfig,
    proxy: ConnectorProxy,
}

/// The proxy of a store's connections.
enum ConnectorProxy {
    /// The one of the cloud's own variables, which the library has read.
    OfCloud,
    /// No proxy.
    Direct,
    /// A proxy, except to some hosts.
    Through { url: Url, exclusions: Exclusions },
}

impl StoreConnector {
    /// Trusts the certificates of `roots`. Without a `proxy`, that of the cloud's own variables
    /// counts.
    pub(super) fn new(roots: &RootList, proxy: Option<&StoreProxy>) -> object_store::Result<Self> {
        let mut tls = client_config(roots).map_err(failed)?;
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];

        let proxy = match proxy {
            None => ConnectorProxy::OfCloud,
            Some(StoreProxy::Direct) => ConnectorProxy::Direct,
            Some(StoreProxy::Through { url, exclusions }) => ConnectorProxy::Through {
                url: Url::parse(url).map_err(failed)?,
                exclusions: Exclusions::parse(exclusions),
            },
        };
        Ok(Self { tls, proxy })
    }

    /// The same client with its proxy. Without a call, reqwest would follow the variables of the
    /// process, and pass by those that it cannot use.
    fn proxied(
        &self,
        builder: ClientBuilder,
        options: &ClientOptions,
    ) -> object_store::Result<ClientBuilder> {
        match &self.proxy {
            ConnectorProxy::Direct => Ok(builder.no_proxy()),
            ConnectorProxy::Through { url, exclusions } => {
                Ok(builder.proxy(through(url.clone(), exclusions.clone())))
            }
            ConnectorProxy::OfCloud => match options.get_config_value(&ClientConfigKey::ProxyUrl) {
                Some(url) => Ok(builder.proxy(of_cloud(&url, options)?)),
                None => Ok(builder.no_proxy()),
            },
        }
    }
}

/// A proxy for all hosts but the excluded ones. reqwest's own exclusions know no ports.
fn through(url: Url, exclusions: Exclusions) -> Proxy {
    Proxy::custom(move |target: &Url| {
        let host = target.host_str().unwrap_or_default();
        // The brackets of an IPv6 address belong to the URL.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = target.port_or_known_default().unwrap_or_default();
        (!exclusions.contain(host, port)).then(|| url.clone())
    })
}

/// The proxy of the cloud's variables, with the exclusions of the library.
fn of_cloud(url: &str, options: &ClientOptions) -> object_store::Result<Proxy> {
    // The error of reqwest would show the address, which may have a password.
    let proxy = Proxy::all(url).map_err(|error| failed(error.without_url()))?;
    let excluded = options.get_config_value(&ClientConfigKey::ProxyExcludes);
    Ok(proxy.no_proxy(excluded.and_then(|hosts| NoProxy::from_string(&hosts))))
}

impl HttpConnector for StoreConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        if is_of_library(options) {
            return ReqwestConnector::default().connect(options);
        }

        let mut builder = Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .https_only(!is_set(options, ClientConfigKey::AllowHttp))
            .http1_only()
            // The lengths of compressed bodies are not those of objects.
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate();
        if let Some(agent) = options.get_config_value(&ClientConfigKey::UserAgent) {
            builder = builder.user_agent(agent);
        }
        if let Some(time) = duration(options, ClientConfigKey::ConnectTimeout)? {
            builder = builder.connect_timeout(time);
        }
        if let Some(time) = duration(options, ClientConfigKey::Timeout)? {
            builder = builder.timeout(time);
        }
        if let Some(time) = duration(options, ClientConfigKey::ReadTimeout)? {
            builder = builder.read_timeout(time);
        }
        if let Some(time) = duration(options, ClientConfigKey::PoolIdleTimeout)? {
            builder = builder.pool_idle_timeout(time);
        }
        if let Some(most) = options.get_config_value(&ClientConfigKey::PoolMaxIdlePerHost) {
            builder = builder.pool_max_idle_per_host(most.parse::<usize>().map_err(failed)?);
        }

        if is_set(options, ClientConfigKey::RandomizeAddresses) {
            builder = builder.dns_resolver(ShufflingResolver);
        }

        let client = self.proxied(builder, options)?.build().map_err(failed)?;
        Ok(HttpClient::new(client))
    }
}

/// Returns whether a cloud's variable asks for something that only the library's own client has:
/// other certificates, or HTTP/2.
fn is_of_library(options: &ClientOptions) -> bool {
    let asked = [
        ClientConfigKey::AllowInvalidCertificates,
        ClientConfigKey::Http2Only,
    ];
    asked.into_iter().any(|key| is_set(options, key))
        || !is_set(options, ClientConfigKey::Http1Only)
        || options
            .get_config_value(&ClientConfigKey::ProxyCaCertificate)
            .is_some()
}

/// Returns whether a setting is on, in the words of the library.
fn is_set(options: &ClientOptions, key: ClientConfigKey) -> bool {
    let value = options.get_config_value(&key).unwrap_or_default();
    ["1", "true", "on", "yes", "y"].contains(&value.to_ascii_lowercase().as_str())
}

/// A time of the settings; `None` if there is none.
fn duration(
    options: &ClientOptions,
    key: ClientConfigKey,
) -> object_store::Result<Option<Duration>> {
    match options.get_config_value(&key) {
        Some(text) => humantime::parse_duration(&text).map(Some).map_err(failed),
        None => Ok(None),
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> object_store::Error {
    object_store::Error::Generic {
        store: "HTTP",
        source: Box::new(error),
    }
}

impl fmt::Debug for StoreConnector {
    /// Without the address of the proxy, which may have a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreConnector")
    }
}
