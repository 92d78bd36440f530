//! Trusted certificates of papir's connections, and hosts without a proxy.
//!
//! | file | contents |
//! |---|---|
//! | `list` | [`RootList`]: the certificates, and the choice of their source |
//! | `source` | [`RootSource`]: the origin of the certificates |
//! | `variables`, `system` | the variables of OpenSSL; the store of the system |
//! | `verifier` | [`RootVerifier`], [`client_config`]: verification of a server's certificate |
//! | `certificate` | fields of certificates that webpki does not give |
//! | `exclusions` | [`Exclusions`]: hosts that are reached without a proxy |
//! | `error` | [`RootsError`] |

mod certificate;
mod error;
mod exclusions;
mod list;
mod source;
mod system;
mod variables;
mod verifier;

pub use error::RootsError;
pub use exclusions::Exclusions;
pub use list::RootList;
pub use source::RootSource;
pub use verifier::{RootVerifier, client_config};
