//! Listening: TCP or Unix sockets, TLS, and connection limits.
//!
//! | file | contents |
//! |---|---|
//! | `address` | listen addresses, and the peer of a connection |
//! | `listener`, `unix`, `stream` | sockets and byte streams |
//! | `tls`, `client_files`, `pem` | TLS handshakes with certificates that can be reloaded |
//! | `activity` | idle and send timeouts of one connection |
//! | `slots` | the limit on open connections |
//! | `connections` | the accept loop |

mod activity;
mod address;
mod client_files;
mod connections;
mod listener;
mod pem;
mod slots;
mod stream;
mod tls;
#[cfg(unix)]
mod unix;

pub(crate) use activity::{Activity, Exchange, RequestActivity, Timeouts};
pub use address::Listen;
pub(crate) use address::Peer;
pub use client_files::ClientFiles;
pub(crate) use connections::{Protocol, serve};
pub(crate) use listener::Listener;
pub(crate) use tls::Tls;
pub use tls::TlsFiles;
