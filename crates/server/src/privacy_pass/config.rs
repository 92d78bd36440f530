//! Settings of private tokens, and the transport to their issuer.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use axum::body::Body;
use axum::http::{Request, Response};

/// Settings of a service whose requests cost private tokens of Privacy Pass (RFC 9576).
#[derive(Clone, Debug)]
pub struct PrivacyPassConfig {
    /// The name of the issuer, which challenges have: its host, and its port unless it is 443.
    /// `None` for the host of the address in a directory that is a file.
    pub issuer: Option<String>,
    /// The place of the issuer's directory of keys.
    pub directory: DirectorySource,
    /// The public host names of this service, with their ports unless they are 443; at least one.
    /// Tokens are bound to all of them, and so are the tokens of services behind one name.
    pub origins: Vec<String>,
    /// The tokens of keys that began before this time are refused; `None` for no limit. After a
    /// registry was lost or restored from a backup, tokens of such keys could be spent again.
    pub not_before: Option<SystemTime>,
}

/// The place of an issuer's directory of keys (RFC 9578, section 4).
#[derive(Clone)]
pub enum DirectorySource {
    /// A file, for services that connect to nothing.
    File(PathBuf),
    /// The issuer itself.
    Issuer(Arc<dyn DirectoryTransport>),
}

impl fmt::Debug for DirectorySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Issuer(_) => f.write_str("Issuer"),
        }
    }
}

/// The failure of an exchange with an issuer.
pub type DirectoryFailure = Box<dyn std::error::Error + Send + Sync>;

/// An exchange with an issuer: completes with the head of the response.
pub type DirectoryExchange =
    Pin<Box<dyn Future<Output = Result<Response<Body>, DirectoryFailure>> + Send + 'static>>;

/// Sends requests for the directory of one issuer.
pub trait DirectoryTransport: Send + Sync + 'static {
    /// Sends a request without a body, whose address is only a path. Follows no redirects, and does
    /// not retry.
    fn send(&self, request: Request<String>) -> DirectoryExchange;
}
