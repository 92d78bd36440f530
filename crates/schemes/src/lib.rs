//! The private information retrieval schemes of papir and their registry.
//!
//! Each family has a folder, and each scheme has the same files: `mod.rs` (the scheme, its paper, a
//! table from algorithms to functions), `params.rs`, `client.rs`, `server.rs`, `wire.rs`, and the
//! scheme's own mathematics in files named after it. `rows.rs` has the scheme's rows in the tables
//! of the documentation and of tests. [`registry`] is the only list of schemes, of which
//! [`default_scheme`] chooses one for a database that names none; [`shared`] holds the building
//! blocks of several families.

pub mod batched;
pub mod default_scheme;
pub mod depir;
pub mod double;
pub mod download;
pub mod inspire;
pub mod pirouette;
pub mod plain;
pub mod registry;
pub mod rows;
pub mod shared;
pub mod simple;
pub mod zip;
