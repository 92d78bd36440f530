//! Sources, snapshots and remote stores, from file to looked-up value.
#![allow(clippy::unwrap_used, clippy::panic)]

mod changes;
mod common;
mod killed;
mod remote;
mod snapshot;
mod sources;
mod sources_rows;
mod tables;
mod update;
mod verifiable;
