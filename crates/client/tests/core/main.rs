//! The protocol core against a scripted peer: which requests it makes, and when.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod lookups;
mod peer;
mod registered;
