//! The blocking transport: HTTP by ureq, over TCP, TLS or Unix sockets.
//!
//! | file | contents |
//! |---|---|
//! | `options`, `platform` | options of a connection; clock and randomness |
//! | `agent`, `unix`, `tls` | the HTTP client, its sockets, and TLS |
//! | `failures` | errors of the HTTP client in words |
//! | `transport` | runs tasks of the protocol core |
//! | `connection`, `registrations`, `psi`, `probe` | the public operations |

mod agent;
mod connection;
mod failures;
mod options;
mod platform;
mod probe;
pub(crate) mod psi;
mod registrations;
mod tls;
mod transport;
#[cfg(unix)]
mod unix;

pub use connection::{Connection, detail, fetch_log, ready};
pub use options::Options;
pub use probe::{Probe, probe};
pub use registrations::Registrations;
pub use tls::certificate::CertificateSummary;
pub use tls::identity::Identity;
