//! Sources, snapshots and object stores, from file to lookup.
#![allow(clippy::unwrap_used, clippy::panic)]

mod backlog;
mod bounded;
mod changes;
mod common;
mod delta;
#[cfg(not(any(
    feature = "cloud",
    feature = "parquet",
    feature = "postgres",
    feature = "sqlite",
    feature = "zstd"
)))]
mod features;
mod fixtures;
mod follow;
mod given;
mod killed;
mod lines;
mod meanwhile;
mod outputs;
mod prefilter;
#[cfg(all(unix, feature = "postgres"))]
mod query;
#[cfg(feature = "cloud")]
mod remote;
mod same_bytes;
mod shards;
mod signed;
mod signed_deltas;
#[cfg(all(unix, feature = "postgres"))]
mod slot;
mod snapshot;
mod sources;
mod sources_rows;
#[cfg(unix)]
mod special;
#[cfg(any(feature = "parquet", feature = "sqlite"))]
mod tables;
mod tasks;
mod update;
mod verifiable;
