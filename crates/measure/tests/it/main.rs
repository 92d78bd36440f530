//! Integration tests of `papir bench`: measurements and predictions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bench;
mod field;
mod planning;
