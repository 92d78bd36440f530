//! `papir issuer`: issues private tokens for services that demand them.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use papir_server::{BoundIssuer, Error, IssuerConfig, Listen, TokenSource};

use super::standalone::{self, SeparateServer, check_time_limits, tls_files};
use crate::arguments::duration::Span;
use crate::failure::{Failure, Outcome};
use crate::service::config::LogFormat;
use crate::service::systemd;

/// Issue private tokens (Privacy Pass) for services that demand them.
///
/// A client shows a bearer token, and receives signatures of tokens that the issuer does not see.
/// It spends the tokens at the service later, one for each request, and the service cannot tell who
/// they were issued to. The issuer may be run by the operator of the service, but apart from it.
///
/// SIGHUP reloads the certificate, the bearer tokens and the keys. SIGINT and SIGTERM finish the
/// running requests, then exit. The variable PAPIR_LOG sets the log level on stderr: off, error,
/// warn, info or debug.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Address or host name, and port to listen on (port 0 picks a free port), or
    /// unix:/path/of/a/socket, which is accessible only to its owner.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7490")]
    listen: Listen,
    /// File with the private keys. The first start makes it, for its owner only. A key gets a
    /// successor after 30 days, and its tokens can be spent for another week.
    #[arg(long, value_name = "FILE")]
    keys: PathBuf,
    /// File with the numbers of issued tokens. The first start makes it.
    #[arg(long, value_name = "FILE")]
    counts: PathBuf,
    /// Token file of the clients, as created by `papir tokens`; can be given several times. A name
    /// with the scope query is one client.
    #[arg(long, value_name = "FILE", required = true)]
    tokens: Vec<PathBuf>,
    /// Tokens for each client in a day, UTC. Clients fetch 32 at a time.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    daily: u32,
    /// Requests that are signed at the same time. Each keeps one core busy.
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,
    /// Certificate chain in PEM; together with --tls-key it enables HTTPS. Reloaded on SIGHUP.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Open connections; when full, a new connection replaces one of the network with the most.
    #[arg(long, value_name = "N", default_value_t = 2048)]
    max_connections: usize,
    /// Time limit for the headers of a request, including the TLS handshake, and for the pause
    /// between two requests.
    #[arg(long, value_name = "TIME", default_value = "20s")]
    header_timeout: Span,
    /// Time limit for the body of a request, and for a client to read more of a response.
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
  papir tokens clients.toml add --name phone > phone.token
  papir issuer --keys issuer.toml --counts issued.redb --tokens clients.toml \\
    --listen 0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem --daily 320
  papir get https://pir.example apple --issuer https://issuer.example --issuer-token phone.token";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let binding = BoundIssuer::bind(arguments.config()?);
    standalone::run(binding, arguments.max_connections, arguments.log_format)
}

impl SeparateServer for BoundIssuer {
    fn address(&self) -> String {
        self.url()
    }

    async fn serve_until(self, stop: impl Future<Output = ()>) -> Result<(), Error> {
        self.serve(stop).await
    }
}

impl Arguments {
    /// The settings of the issuer.
    fn config(&self) -> Result<IssuerConfig, Failure> {
        check_time_limits(self.header_timeout, self.body_timeout)?;
        let tls = tls_files(self.tls_cert.as_ref(), self.tls_key.as_ref());
        let tokens = self.tokens.iter().map(TokenSource::new).collect();

        Ok(IssuerConfig {
            listen: self.listen.clone(),
            daily: self.daily,
            threads: self.threads,
            tls,
            max_connections: self.max_connections,
            header_timeout: self.header_timeout.0,
            body_timeout: self.body_timeout.0,
            stop_timeout: self.stop_timeout.0,
            on_state: Some(Arc::new(systemd::tell)),
            ..IssuerConfig::new(&self.keys, &self.counts, tokens)
        })
    }
}
