//! `papir relay`: forwards sealed requests of Oblivious HTTP to services of other operators.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use papir_client::core::Address;
use papir_client::{Options, ProxySetting};
use papir_plan::units::Bytes;
use papir_server::{BoundRelay, Error, Listen, Rate, RelayConfig, RelayGateway};

use super::standalone::{self, SeparateServer, check_time_limits, tls_files};
use crate::arguments::authority::authority;
use crate::arguments::duration::Span;
use crate::arguments::proxy::ProxyParser;
use crate::failure::{Failure, Outcome};
use crate::service::config::LogFormat;
use crate::service::{forwarding, systemd};

/// Relay sealed requests of Oblivious HTTP to services that others run.
///
/// The relay sees the addresses of clients, and not their requests; the service sees the requests,
/// and not the addresses. So the relay must not be run by the operator of the service. SIGHUP
/// reloads the certificate. SIGINT and SIGTERM finish the running requests, then exit. The variable
/// PAPIR_LOG sets the log level on stderr: off, error, warn, info or debug.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Address or host name, and port to listen on (port 0 picks a free port), or
    /// unix:/path/of/a/socket, which is accessible only to its owner.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7480")]
    listen: Listen,
    /// Service to forward to: https://HOST[:PORT][/PREFIX], as its clients write it; can be given
    /// several times. Plain http:// is accepted for this machine only.
    #[arg(long, value_name = "URL", required = true)]
    to: Vec<GatewayUrl>,
    /// Certificate chain in PEM; together with --tls-key it enables HTTPS. Reloaded on SIGHUP.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Certificates in PEM to trust, and no others, in connections to the services and to an
    /// https:// proxy [default: those in SSL_CERT_FILE and SSL_CERT_DIR, else those of the system].
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Proxy for connections to the services: http://, https:// or
    /// socks5://[NAME:PASSWORD@]HOST:PORT; none connects directly [default: the one in HTTPS_PROXY,
    /// HTTP_PROXY or ALL_PROXY].
    #[arg(long, value_name = "URL|none", value_parser = ProxyParser)]
    proxy: Option<ProxySetting>,
    /// Longest sealed request.
    #[arg(long, value_name = "BYTES", default_value = "128MiB")]
    max_request: Bytes,
    /// Sustained rate of requests from one address, as in 5/s, 300/min or 1000/h [default: no
    /// limit].
    #[arg(long, value_name = "N/UNIT")]
    rate: Option<Rate>,
    /// Open connections; when full, a new connection replaces one of the network with the most.
    #[arg(long, value_name = "N", default_value_t = 2048)]
    max_connections: usize,
    /// Time limit for the headers of a request, including the TLS handshake, and for the pause
    /// between two requests.
    #[arg(long, value_name = "TIME", default_value = "20s")]
    header_timeout: Span,
    /// Time limit for the body of a request, for a client to read more of a response, and for a
    /// pause of the service within a response.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    body_timeout: Span,
    /// Time after SIGTERM for which running requests are finished.
    #[arg(long, value_name = "TIME", default_value = "1m")]
    stop_timeout: Span,
    /// Format of the log on stderr.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
}

const EXAMPLES: &str = "Examples:
  papir relay --listen 0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem --to https://pir.example
  papir relay --listen 0.0.0.0:80 --to https://a.example --to https://b.example:8443/papir
  papir relay --to https://pir.example --rate 5/s --proxy socks5://127.0.0.1:9050";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let binding = BoundRelay::bind(arguments.config()?);
    standalone::run(binding, arguments.max_connections, arguments.log_format)
}

impl SeparateServer for BoundRelay {
    fn address(&self) -> String {
        self.url()
    }

    async fn serve_until(self, stop: impl Future<Output = ()>) -> Result<(), Error> {
        self.serve(stop).await
    }
}

impl Arguments {
    /// The settings of the relay.
    fn config(&self) -> Result<RelayConfig, Failure> {
        check_time_limits(self.header_timeout, self.body_timeout)?;
        let tls = tls_files(self.tls_cert.as_ref(), self.tls_key.as_ref());

        Ok(RelayConfig {
            listen: self.listen.clone(),
            gateways: self.gateways()?,
            tls,
            rate: self.rate,
            max_request: self.max_request.0,
            max_connections: self.max_connections,
            header_timeout: self.header_timeout.0,
            body_timeout: self.body_timeout.0,
            stop_timeout: self.stop_timeout.0,
            on_state: Some(Arc::new(systemd::tell)),
            ..RelayConfig::default()
        })
    }

    /// The gateways, with a transport to each.
    fn gateways(&self) -> Result<Vec<RelayGateway>, Failure> {
        let options = Options {
            ca: self.ca.clone(),
            proxy: self.proxy.clone().unwrap_or_default(),
            ..Options::default()
        };

        let mut known = BTreeSet::new();
        let mut gateways = Vec::new();
        for GatewayUrl { url, authority } in &self.to {
            if !known.insert(authority) {
                return Err(Failure::new(format!(
                    "two services at {authority}: a client could not choose one"
                )));
            }

            // The proxy's machine is another one, whatever the host is called.
            let is_carried = matches!(self.proxy, Some(ProxySetting::Through(_)));
            if is_carried && !url.starts_with("https://") {
                return Err(Failure::new(format!(
                    "--to {url} through --proxy: expected https://, since the proxy could read and \
                     replace the service's keys"
                )));
            }

            gateways.push(RelayGateway {
                authority: authority.clone(),
                transport: forwarding::to_gateway(url, &options)?,
            });
        }
        Ok(gateways)
    }
}

/// The URL of a service, and its authority as clients write it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct GatewayUrl {
    url: String,
    authority: String,
}

impl FromStr for GatewayUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = Address::parse(text).map_err(|error| error.to_string())?;
        // Between relay and service, plain HTTP would show who asks to the network after all.
        let is_safe = address.is_https() || address.is_local();
        if !is_safe || address.socket().is_some() {
            return Err("expected https://HOST, or http:// of this machine".to_owned());
        }
        if text.contains('@') {
            return Err("expected no user in the address".to_owned());
        }

        Ok(Self {
            url: address.base().to_owned(),
            authority: authority(&address),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_those_that_clients_write() {
        for (text, url, authority) in [
            ("https://H.example", "https://H.example", "h.example"),
            ("https://h:443/", "https://h:443", "h"),
            ("https://h:8443/a/b/", "https://h:8443/a/b", "h:8443"),
            (
                "https://[2001:DB8::1]",
                "https://[2001:DB8::1]",
                "[2001:db8::1]",
            ),
            (
                "http://127.0.0.1:7470",
                "http://127.0.0.1:7470",
                "127.0.0.1:7470",
            ),
            ("http://localhost:80", "http://localhost:80", "localhost"),
        ] {
            let parsed: GatewayUrl = text.parse().unwrap();
            assert_eq!(
                (parsed.url.as_str(), parsed.authority.as_str()),
                (url, authority)
            );
        }
    }

    #[test]
    fn services_without_tls_are_of_this_machine() {
        for text in [
            "http://h.example",
            "unix:/run/papir.sock",
            "h.example",
            "https://user:secret@h.example",
        ] {
            let refused = text.parse::<GatewayUrl>().unwrap_err();
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}
