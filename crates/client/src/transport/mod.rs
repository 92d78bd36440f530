//! Parts that both transports share: options, certificates, failures, public operations.
//!
//! | file | contents |
//! |---|---|
//! | `options`, `platform` | options of a connection; clock and randomness |
//! | `operations` | the public operations, written once for both transports |
//! | `servers` | the servers of a connection to several |
//! | `call`, `retry_observer` | time limits of calls; reports of pauses before retries |
//! | `tls`, `verifier`, `certificate` | trusted certificates, and the one that a server presents |
//! | `identity` | the client's own certificate |
//! | `proxy` | the proxy that carries connections |
//! | `issuer`, `issuing` | the issuer of tokens; the connections to it |
//! | `refills` | tokens that are fetched ahead of need |
//! | `relay`, `relaying` | the relay; its checks, its file of keys |
//! | `failures`, `broken` | failures that no retry resolves; connections that break |
//! | `pinned` | pins, shown and removed by the user |

#[cfg(any(feature = "aio", feature = "blocking"))]
pub(crate) mod broken;
pub(crate) mod call;
pub(crate) mod certificate;
pub(crate) mod failures;
pub(crate) mod identity;
pub(crate) mod issuer;
#[cfg(any(feature = "aio", feature = "blocking"))]
pub(crate) mod issuing;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod locked;
#[cfg(any(feature = "aio", feature = "blocking"))]
pub(crate) mod operations;
pub(crate) mod options;
pub(crate) mod pinned;
mod platform;
pub(crate) mod proxy;
#[cfg(any(feature = "aio", feature = "blocking"))]
pub(crate) mod refills;
pub(crate) mod relay;
pub(crate) mod relaying;
pub(crate) mod retry_observer;
#[cfg(any(feature = "aio", feature = "blocking"))]
pub(crate) mod servers;
pub(crate) mod tls;
pub(crate) mod verifier;

use std::time::Duration;

/// The value of the header `user-agent` of every request.
pub(crate) const USER_AGENT: &str = concat!("papir/", env!("CARGO_PKG_VERSION"));
/// Timeout for connecting.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for a read or a write. A read waits while the server computes an answer.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(120);
