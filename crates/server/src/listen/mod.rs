//! Listening: TCP or Unix sockets, TLS, and connection limits.
//!
//! | file | contents |
//! |---|---|
//! | `address` | listen addresses, and the peer of a connection |
//! | `listener`, `unix`, `stream` | sockets and byte streams |
//! | `tls` | TLS handshakes with a certificate that can be reloaded |
//! | `activity` | idle and send timeouts of one connection |
//! | `slots` | the limit on open connections |
//! | `connections` | the accept loop |

mod activity;
mod address;
mod connections;
mod listener;
mod slots;
mod stream;
mod tls;
#[cfg(unix)]
mod unix;

pub(crate) use activity::{Activity, Exchange, RequestActivity, Timeouts};
pub use address::Listen;
pub(crate) use address::Peer;
pub(crate) use connections::{Protocol, serve};
pub(crate) use listener::Listener;
pub(crate) use tls::Tls;
pub use tls::TlsFiles;
