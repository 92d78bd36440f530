//! The private information retrieval schemes of papir and their registry.
//!
//! One folder a scheme, the same files in each: `mod.rs` (what it is, the paper, algorithm →
//! function), `params.rs`, `client.rs`, `server.rs`, `wire.rs`, and its own mathematics beside
//! them. [`registry`] is the only list; [`selection`] is what those share that pack a selected column,
//! [`compression`] what those share whose clients have Paillier keys. [`batched`] makes batches of any of them.

pub mod batched;
mod bundle;
pub mod compression;
pub mod depir;
pub mod double;
pub mod encrypted;
pub mod inspire;
pub mod inspire0;
pub mod inspire2;
pub mod newton;
pub mod nothing;
mod packed;
mod packs;
pub mod pirouette;
pub mod plain;
mod readback;
mod refusal;
pub mod registry;
mod residues;
pub mod respire;
pub mod selection;
mod shape_io;
pub mod simple;
pub mod simpleypir;
pub mod stacked;
pub mod ypir;
pub mod zip;
pub mod zipdouble;
