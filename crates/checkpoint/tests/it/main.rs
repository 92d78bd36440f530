//! Logs, proofs and policies together.
#![allow(clippy::unwrap_used, clippy::panic)]

mod gateways;
mod log;
mod policy;
mod support;
mod vectors;
