//! Freed memory holds no secret of a client.
#![allow(clippy::unwrap_used, unsafe_code)]

mod double;
mod inspire;
mod lookups;
mod newton;
mod paillier;
#[path = "../it/peer.rs"]
mod peer;
mod pirouette;
#[path = "../it/short/mod.rs"]
mod short;
mod watch;
