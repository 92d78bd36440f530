//! Choice of the proxy for a client's connections.
//!
//! | file | contents |
//! |---|---|
//! | `choice` | the proxy that applies to a connection |
//! | `address` | addresses of proxies |
//! | `variables` | the variables of the environment that name proxies |
//! | `failures` | errors of connections through a proxy |
//!
//! The rules of `NO_PROXY` are those of [`papir_tls::Exclusions`], which object stores follow, too.
//!
//! A proxy may hide the client's address. If one applies that cannot be used, the result is an
//! error, and never a direct connection.

mod address;
mod choice;
pub(crate) mod failures;
mod variables;

#[cfg(test)]
mod tests;

pub use self::address::{ChosenProxy, ProxyAddress};
pub use self::choice::{ProxySetting, SharedProxy};
