//! The test vectors of RFC 9577 and RFC 9578.
#![allow(clippy::unwrap_used)]

mod headers;
mod issuance;
mod support;
