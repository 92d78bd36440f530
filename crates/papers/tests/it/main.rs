//! Integration tests of `papir-papers`: tables, figures and experiments.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;
mod depir;
mod field;
mod printed;
mod record;
mod tables;
mod unchanged;
mod xml;
