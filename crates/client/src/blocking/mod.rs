//! The blocking transport: HTTP by ureq, over TCP, TLS or Unix sockets.
//!
//! | file | contents |
//! |---|---|
//! | `options`, `platform` | options of a connection; clock and randomness |
//! | `agent`, `unix` | the HTTP client and its sockets |
//! | `transport` | runs tasks of the protocol core |
//! | `connection`, `registrations`, `psi` | the public operations |

mod agent;
mod connection;
mod options;
mod platform;
pub(crate) mod psi;
mod registrations;
mod transport;
#[cfg(unix)]
mod unix;

pub use connection::{Connection, fetch_log, ready};
pub use options::Options;
pub use registrations::Registrations;
