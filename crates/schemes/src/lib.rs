//! The private information retrieval schemes of papir and their registry.
//!
//! One folder a scheme, the same files in each: `mod.rs` (what it is, the paper, algorithm →
//! function), `params.rs`, `client.rs`, `server.rs`, `wire.rs`, and its own mathematics beside
//! them. [`registry`] is the only list.

pub mod double;
pub mod inspire;
mod packs;
pub mod plain;
pub mod registry;
mod shape_io;
pub mod simple;
