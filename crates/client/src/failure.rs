//! Failures of requests, which errors contain.

use std::fmt::Display;

use papir_core::without_passwords;

/// A failure of the relay that carries requests to the service, or of the gateway behind it.
///
/// A transport returns it as the failure of a request. The result is then an
/// [`Error::Relay`](crate::Error::Relay).
#[derive(Debug, thiserror::Error)]
#[error("through the relay {}: {}", shown(relay), shown(source))]
pub struct RelayFailure {
    /// The relay's address, without a password.
    pub relay: String,
    /// Set if the same request may succeed later: the relay cannot be reached, or is busy.
    pub is_retryable: bool,
    /// The reason.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// A failure of the transport that a retry would not resolve: the source of an
/// [`Error::Transport`](crate::Error::Transport).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FinalFailure {
    /// The client refuses the server's certificate.
    #[error("the server's certificate ({certificate}) is refused: {reason}")]
    Certificate {
        /// The name or the address that it was presented for.
        server: String,
        /// Its subject and issuer.
        certificate: String,
        /// The reason.
        reason: String,
        /// Set if neither the certificate nor its issuer is trusted.
        unknown: bool,
    },
    /// The certificate of an `https` proxy is refused.
    #[error("the certificate of the proxy {proxy} ({certificate}) is refused: {reason}")]
    ProxyCertificate {
        /// Its address, and the variable or option that names it.
        proxy: String,
        /// Its subject and issuer.
        certificate: String,
        /// The reason.
        reason: String,
        /// Set if neither the certificate nor its issuer is trusted.
        unknown: bool,
    },
    /// The service asks for a certificate of the client, or refuses the one presented.
    #[error("{reason}")]
    ClientCertificate {
        /// The reason.
        reason: &'static str,
        /// Set if the client presented no certificate.
        missing: bool,
    },
    /// The proxy requires a login, or refuses the given one.
    #[error("the proxy {proxy} {reason}")]
    ProxyLogin {
        /// The proxy's address without its login, and the variable or option that names it.
        proxy: String,
        /// The reason.
        reason: &'static str,
    },
    /// The server at an `https` address does not use TLS.
    #[error("this port does not use TLS: try {instead}")]
    NoTls {
        /// The address to use instead.
        instead: String,
    },
    /// The server at an `http` address does not respond in HTTP.
    #[error("the response is not HTTP; the port may use TLS: try {instead}")]
    NoHttp {
        /// The address to use instead.
        instead: String,
    },
}

/// A text without passwords and tokens. Every language shows the texts of these errors, and they
/// end up in logs and in reports to others.
pub(crate) fn shown(text: impl Display) -> String {
    without_passwords(&text.to_string())
}
