//! Options of every command that connects to a server.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use papir_client::{
    DownloadLimit, FinalFailure, Identity, Issuer, Options, Pin, PrefilterUse, Relay,
    RetryObserver, Token,
};
use papir_plan::units::parse_bytes;
use zeroize::Zeroizing;

use crate::arguments::duration::Span;
use crate::arguments::network::{Network, NetworkArguments};
use crate::failure::Failure;
use crate::progress;

/// The environment variable that holds the token if no file is given.
const TOKEN_VARIABLE: &str = "PAPIR_TOKEN";
/// Maximum length of a token file in bytes.
const MAX_TOKEN_FILE: u64 = 8192;

/// Database, authentication and transport options.
///
/// There is no option for the token itself, because all users of a machine can see command-line
/// arguments, and shells store them.
#[derive(Args)]
pub(crate) struct Connecting {
    /// The database's name, if the server has several.
    #[arg(long, value_name = "NAME", global = true)]
    database: Option<String>,
    /// A file with the access token; otherwise the variable PAPIR_TOKEN is used if set.
    #[arg(long, value_name = "FILE", global = true)]
    token_file: Option<PathBuf>,
    /// The client's certificate chain in PEM, for a service that asks for one.
    #[arg(long, value_name = "FILE", global = true, requires = "client_key")]
    client_cert: Option<PathBuf>,
    /// The certificate's private key in PEM.
    #[arg(long, value_name = "FILE", global = true, requires = "client_cert")]
    client_key: Option<PathBuf>,
    #[command(flatten)]
    network: NetworkArguments,
    /// Relay of Oblivious HTTP for everything that is sent to the service or fetched from it:
    /// https://HOST, optionally with a port and a path. Nothing goes to the service directly.
    /// Without --ohttp-keys, or --owner-pub of an owner who names the gateway's keys, the relay can
    /// read requests, and no token is sent.
    #[arg(long, value_name = "URL", global = true)]
    relay: Option<String>,
    /// File with the keys of the service's gateway. By default they are fetched through the relay.
    #[arg(long, value_name = "FILE", global = true, requires = "relay")]
    ohttp_keys: Option<PathBuf>,
    /// Issuer of private tokens, for a service that demands them: https://HOST, optionally with a
    /// port. 32 tokens are fetched at a time, kept with the client state, and spent once each. The
    /// connection to the issuer does not go through --relay.
    #[arg(long, value_name = "URL", global = true)]
    issuer: Option<String>,
    /// A file with the access token for the issuer.
    #[arg(long, value_name = "FILE", global = true, requires = "issuer")]
    issuer_token: Option<PathBuf>,
    /// Largest download of a public part or a set's filter, whose length the service chooses
    /// [default: 1GiB].
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, global = true)]
    max_download: Option<u64>,
    /// Longest time of the command, with all its waits, retries and downloads, such as 5s; for
    /// papir load, of each lookup. By default there is no limit. The exit code is 3 when it is
    /// over.
    #[arg(long, value_name = "TIME", value_parser = timeout, global = true)]
    timeout: Option<Span>,
    /// Send the token even over plain HTTP to another machine, where anyone on the network path can
    /// read it, and through a relay without --ohttp-keys, which can read it. A relay may then be
    /// reached over plain HTTP, too.
    #[arg(long, global = true)]
    insecure_http: bool,
}

impl Connecting {
    /// The selected database.
    pub(crate) fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// Converts to the client's options, without pins, copies of public parts and filters of keys:
    /// most commands look at a service and store nothing about it. The timeout of the command
    /// starts here.
    pub(crate) fn options(&self, allow_not_private: bool) -> Result<Options, Failure> {
        if allow_not_private {
            papir_research::register()?;
        }

        let network = self.network();
        Ok(Options {
            database: self.database.clone(),
            allow_not_private,
            pin: Pin::Nothing,
            no_cache: true,
            prefilter: PrefilterUse::Ignore,
            token: self.token()?,
            insecure_http: self.insecure_http,
            ca: network.ca,
            identity: self.identity(),
            proxy: network.proxy,
            relay: self.relay(),
            issuer: self.issuer()?,
            download_limit: self
                .max_download
                .map_or_else(DownloadLimit::default, DownloadLimit),
            timeout: self.timeout.map(|Span(time)| time),
            // All calls of a command share the time.
            deadline: self
                .timeout
                .and_then(|Span(time)| Instant::now().checked_add(time)),
            retries: progress::retry_line(),
            ..Options::default()
        })
    }

    /// The chosen proxy and certificates.
    pub(crate) fn network(&self) -> Network {
        self.network.setting()
    }

    fn relay(&self) -> Option<Relay> {
        let url = self.relay.clone()?;
        let keys = self.ohttp_keys.clone();
        Some(Relay { url, keys })
    }

    fn issuer(&self) -> Result<Option<Issuer>, Failure> {
        let Some(url) = &self.issuer else {
            return Ok(None);
        };
        let token = match &self.issuer_token {
            Some(path) => Some(parse_token(
                &read_token(path)?,
                &path.display().to_string(),
            )?),
            None => None,
        };
        Ok(Some(Issuer::new(url, token)))
    }

    fn identity(&self) -> Option<Identity> {
        Some(Identity::new(
            self.client_cert.as_ref()?,
            self.client_key.as_ref()?,
        ))
    }

    /// The token of the file or, without a file, of the environment.
    fn token(&self) -> Result<Option<Token>, Failure> {
        let (text, source) = match &self.token_file {
            Some(path) => (read_token(path)?, path.display().to_string()),
            None => match std::env::var(TOKEN_VARIABLE) {
                Ok(text) if !text.is_empty() => (Zeroizing::new(text), TOKEN_VARIABLE.to_owned()),
                Ok(_) | Err(std::env::VarError::NotPresent) => return Ok(None),
                Err(error) => return Err(Failure::new(format!("{TOKEN_VARIABLE}: {error}"))),
            },
        };

        parse_token(&text, &source).map(Some)
    }
}

/// Parses the text of a token. Errors name its source.
fn parse_token(text: &str, source: &str) -> Result<Token, Failure> {
    Token::new(text).map_err(|error| Failure::new(format!("{source}: {error}")))
}

/// The same options, without a line about retries if the command prints JSON.
pub(crate) fn quiet_for(json: bool, options: Options) -> Options {
    if !json {
        return options;
    }
    Options {
        retries: RetryObserver::default(),
        ..options
    }
}

/// Parses a timeout. Zero could be meant as no limit, and would leave no time at all.
fn timeout(text: &str) -> Result<Span, String> {
    let span: Span = text.parse()?;
    if span.0.is_zero() {
        return Err("expected more than 0, or no --timeout for no limit".to_owned());
    }
    Ok(span)
}

/// Reads the text of a token file.
fn read_token(path: &Path) -> Result<Zeroizing<String>, Failure> {
    // Allocated at full size: growing the buffer would leave copies of the token in memory.
    let mut text = Zeroizing::new(String::with_capacity(MAX_TOKEN_FILE as usize));
    File::open(path)
        .and_then(|file| file.take(MAX_TOKEN_FILE).read_to_string(&mut text))
        .map_err(|error| Failure::at(path, error))?;
    Ok(text)
}

/// Returns whether a place is the address of a service, and not a file.
pub(crate) fn is_url(place: &str) -> bool {
    ["http://", "https://", "unix:"]
        .iter()
        .any(|scheme| place.starts_with(scheme))
}

/// Converts a client's error to a message, with the option that resolves it, if any.
pub(crate) fn explain(error: papir_client::Error) -> Failure {
    use papir_client::Error as E;
    use papir_core::Error as CoreError;

    match error {
        E::Core(error @ CoreError::NotPrivate { .. }) => {
            Failure::new(format!("no query was sent: {error} (--allow-not-private)"))
        }
        E::Core(error @ CoreError::OwnerKey { .. }) => {
            Failure::new(format!("no query was sent: {error} (--decrypt)"))
        }
        error @ E::TokenInClear { .. } => {
            Failure::new(format!("no query was sent: {error} (--insecure-http)"))
        }
        error @ E::Root { .. } => Failure::new(format!(
            "no query was sent: {error} (--root accepts a new root, once its owner has confirmed it)"
        )),
        error @ (E::NoCheckpoint { .. } | E::OtherName { .. }) => {
            Failure::new(format!("no query was sent: {error}"))
        }
        error @ E::Unscheduled { .. } => Failure::new(format!(
            "no query was sent: {error} (papir get has no schedule, but the libraries have: without \
             --hide-times it sends at once)"
        )),

        error @ E::BadProxy { .. } => Failure::new(format!(
            "no connection was made: {error} (--proxy none connects directly)"
        )),
        error @ (E::BadRelay { .. } | E::BadIssuer { .. } | E::BadOhttpKeys { .. }) => {
            Failure::new(format!("no connection was made: {error}"))
        }

        E::Transport { url, source } if is_unknown_certificate(source.as_ref()) => {
            Failure::new(format!("{url}: {source} ({})", trust_hint("server")))
        }
        E::Relay { url, failure } if is_unknown_certificate(failure.source.as_ref()) => {
            Failure::new(format!("{url}: {failure} ({})", trust_hint("relay")))
        }
        E::Transport { url, source } if asks_for_certificate(source.as_ref()) => Failure::new(
            format!("{url}: {source} (--client-cert FILE --client-key FILE)"),
        ),

        error @ E::TooLarge { .. } => Failure::new(format!("{error} (--max-download)")),
        error @ E::NoIssuer { .. } => {
            Failure::new(format!("{error} (--issuer URL --issuer-token FILE)"))
        }
        E::Checkpoint { url, error } => of_checkpoint(&url, &error),
        other => other.into(),
    }
}

/// The option that makes a client trust the certificate of a server or a relay.
fn trust_hint(peer: &str) -> String {
    format!(
        "--ca FILE trusts the certificates in a file: give the {peer}'s own, or that of its issuer"
    )
}

/// Returns whether the service asks for a client certificate, and the client presented none.
fn asks_for_certificate(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    matches!(
        error.downcast_ref(),
        Some(FinalFailure::ClientCertificate { missing: true, .. })
    )
}

/// Returns whether an error is a certificate that nothing trusted vouches for.
fn is_unknown_certificate(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    matches!(
        error.downcast_ref(),
        Some(
            FinalFailure::Certificate { unknown: true, .. }
                | FinalFailure::ProxyCertificate { unknown: true, .. }
        )
    )
}

/// Converts a refusal of a checkpoint to a message.
fn of_checkpoint(url: &str, error: &papir_checkpoint::Error) -> Failure {
    let advice = match error {
        papir_checkpoint::Error::Untrusted { .. } | papir_checkpoint::Error::Origin { .. } => {
            " (--owner-pub accepts another key, once the owner has confirmed it and no key is pinned: \
             papir pin remove)"
        }
        papir_checkpoint::Error::TooOld { .. } => " (--max-age)",
        papir_checkpoint::Error::Sequence { .. } => " (--sequence)",
        papir_checkpoint::Error::Cosignatures { .. } => " (--cosignatures)",
        _ => "",
    };

    Failure::new(format!("no query was sent: {url}: {error}{advice}"))
}
