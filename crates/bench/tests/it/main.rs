//! Integration tests of `papir bench`: measurements, predictions, tables and figures.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bench;
mod depir;
mod field;
mod planning;
mod tables;
