//! The private information retrieval schemes of papir and their registry.
//!
//! Each family has a folder, and each scheme has the same files: `mod.rs` (the scheme, its paper, a
//! table from algorithms to functions), `params.rs`, `client.rs`, `server.rs`, `wire.rs`, and the
//! scheme's own mathematics in files named after it. `rows.rs` has the scheme's rows in the tables
//! of the documentation and of tests. [`registry`] is the only list of schemes, of which
//! [`default_scheme`] chooses one for a database that names none; [`shared`] holds the building
//! blocks of several families.
//!
//! The feature `all` is on by default. Without it the crate has the families `inspire` and `simple`
//! only, and [`audit_core`] in place of the registry: the schemes that `docs/audit.md` covers.

// Without the other schemes, some building blocks have no user.
#![cfg_attr(
    not(feature = "all"),
    allow(dead_code, unused_imports, unreachable_pub)
)]

pub mod audit_core;
#[cfg(feature = "all")]
pub mod batched;
#[cfg(feature = "all")]
pub mod default_scheme;
#[cfg(feature = "all")]
pub mod depir;
#[cfg(feature = "all")]
pub mod double;
#[cfg(feature = "all")]
pub mod download;
pub mod inspire;
#[cfg(feature = "all")]
pub mod pirouette;
#[cfg(feature = "all")]
pub mod plain;
#[cfg(feature = "all")]
pub mod registry;
pub mod rows;
pub mod shared;
pub mod simple;
#[cfg(feature = "all")]
pub mod zip;
