//! Encryption and packing against naive arithmetic, and measured noise against computed.
#![allow(clippy::unwrap_used)]

mod bootstrap;
mod cdks;
mod encryption;
mod inspiring;
mod partial;
mod support;
