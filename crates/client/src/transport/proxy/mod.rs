//! Choice of the proxy that carries a client's connections.
//!
//! | file | contents |
//! |---|---|
//! | `choice` | the proxy that applies to a connection |
//! | `address` | addresses of proxies |
//! | `variables` | the variables of the environment that name proxies |
//! | `exclusions` | hosts that are reached directly: the rules of `NO_PROXY` |
//! | `failures` | errors of connections through a proxy |
//!
//! A proxy may hide the client's address. If one applies that cannot be used, the result is an
//! error, and never a direct connection.

mod address;
mod choice;
mod exclusions;
pub(crate) mod failures;
mod variables;

#[cfg(test)]
mod tests;

pub use self::address::{ChosenProxy, ProxyAddress};
pub use self::choice::{ProxySetting, SharedProxy};
