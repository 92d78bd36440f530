//! Integration tests against naive arithmetic.
#![allow(clippy::unwrap_used, clippy::panic)]

mod compress;
mod encryption;
mod products;
mod support;
