//! The blocking transport: HTTP by ureq, over TCP, TLS or Unix sockets.
//!
//! | file | contents |
//! |---|---|
//! | `agent`, `unix`, `tls` | the HTTP client, its sockets, and TLS |
//! | `failures` | errors of the HTTP client |
//! | `transport` | the transport, which runs tasks of the protocol core |
//! | `relayed` | requests of the transport through a relay |
//! | `connection`, `registrations`, `psi`, `probe` | the public operations |
//! | `scheduled` | lookups at fixed times |
//! | `sender` | requests to services that are not papir's |

mod agent;
mod connection;
mod failures;
mod probe;
pub(crate) mod psi;
mod registrations;
mod relayed;
mod scheduled;
mod sender;
mod tls;
mod transport;
#[cfg(unix)]
mod unix;

pub use connection::{Connection, detail, extract_message, fetch_log, ready};
pub use probe::{Probe, probe};
pub use registrations::Registrations;
pub use sender::{HttpReceived, HttpSender};
