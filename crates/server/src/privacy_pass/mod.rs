//! Private tokens of Privacy Pass (RFC 9576 to 9578): the keys of their issuer, and verification.
//!
//! | file | contents |
//! |---|---|
//! | `config` | settings, and the transport to the issuer |
//! | `directory` | reads the directory of an issuer |
//! | `recent` | tokens that were spent a short time ago |
//! | `verifier` | keys in use, challenges, verification of tokens |
//!
//! The service accepts the keys that the issuer's directory lists. It reads the directory at the
//! start and each hour, and uses the last one for a day if no newer one can be had. Without a key
//! it refuses all requests that cost a token.

mod config;
mod directory;
mod recent;
mod verifier;

pub use config::{
    DirectoryExchange, DirectoryFailure, DirectorySource, DirectoryTransport, PrivacyPassConfig,
};
pub(crate) use verifier::{PassVerifier, TokenRefusal};
