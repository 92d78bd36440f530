//! Tests of the schemes through their public interface, in one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod candidates;
mod certificates;
mod conformance;
mod failure;
mod golden;
mod hostile_bytes;
mod inspire;
mod inspire2;
mod inspire_columns;
mod inspire_golden;
mod inspire_interpolation;
mod inspire_security;
mod inspire_update;
mod older_formats;
mod on_device;
mod packed;
mod packed_double;
mod packed_simple;
mod pages;
mod peer;
mod repeated_randomness;
mod secrets;
mod shards;
mod short;
mod stages;
mod suite_finds_faults;
mod timed;
mod updates;
