//! Connections to PostgreSQL servers: addresses, passwords, TLS.
//!
//! | module | contents |
//! |---|---|
//! | [`Login`] | address, password and trust |
//! | [`Connector`] | connections |
//! | `address` | addresses, with defaults |
//! | `pass_file` | password files of PostgreSQL's clients |
//!
//! Without the feature `connect`, there are only logins.

#[cfg(feature = "connect")]
mod address;
#[cfg(feature = "connect")]
mod connector;
#[cfg(feature = "connect")]
mod error;
mod login;
#[cfg(feature = "connect")]
mod pass_file;

#[cfg(feature = "connect")]
pub use connector::Connector;
#[cfg(feature = "connect")]
pub use error::{Error, Result};
pub use login::Login;
