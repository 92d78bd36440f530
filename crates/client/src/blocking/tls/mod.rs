//! TLS of the blocking transport.
//!
//! ureq's own connector cannot be given a verifier, so this one replaces it: see [`verifier`].

pub(super) mod certificate;
mod connector;
pub(super) mod identity;
pub(super) mod verifier;

pub(super) use connector::TlsConnector;
