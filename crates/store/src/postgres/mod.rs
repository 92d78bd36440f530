//! Connections to PostgreSQL servers: addresses, passwords, TLS.
//!
//! | module | contents |
//! |---|---|
//! | [`Login`] | address, password and trust |
//! | [`Connector`] | connections |
//! | `address` | addresses, with defaults |
//! | `pass_file` | password files of PostgreSQL's clients |
//!
//! A password never comes from an address, TLS is required except to this machine, and a server's
//! certificate is always verified.
//!
//! Without the feature `postgres`, there are only logins.

#[cfg(feature = "postgres")]
mod address;
#[cfg(feature = "postgres")]
mod connector;
#[cfg(feature = "postgres")]
mod error;
mod login;
#[cfg(feature = "postgres")]
mod pass_file;

#[cfg(feature = "postgres")]
pub use connector::Connector;
#[cfg(feature = "postgres")]
pub(crate) use error::reason;
#[cfg(feature = "postgres")]
pub use error::{Error, Result};
pub use login::{Login, TcpHost};
