//! What `papir bench` measures, plans and reproduces.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bench;
mod depir;
mod planning;
mod tables;
