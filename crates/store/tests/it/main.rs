//! Sources, snapshots and object stores, from file to lookup.
#![allow(clippy::unwrap_used, clippy::panic)]

mod changes;
mod common;
mod delta;
#[cfg(not(any(feature = "cloud", feature = "parquet", feature = "sqlite")))]
mod features;
mod fixtures;
mod follow;
mod killed;
#[cfg(feature = "cloud")]
mod remote;
mod signed;
mod signed_deltas;
mod snapshot;
mod sources;
mod sources_rows;
#[cfg(any(feature = "parquet", feature = "sqlite"))]
mod tables;
mod update;
mod verifiable;
