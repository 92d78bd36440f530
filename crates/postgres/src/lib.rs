//! Connections to PostgreSQL servers: addresses, passwords, TLS.
//!
//! | module | contents |
//! |---|---|
//! | [`Login`] | what is needed to connect |
//! | [`Connector`] | connections |
//! | `address` | parses an address, and adds what it leaves open |
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
