//! Keyword tables, commitments, blocks and updates over schemes.
#![allow(clippy::unwrap_used, clippy::panic)]

mod blocks;
mod commitment;
mod common;
mod delta;
mod estimate;
mod lookup;
mod outside;
mod overhead;
mod prefilter;
mod table;
mod update;
