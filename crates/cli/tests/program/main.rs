//! The compiled program: what it prints, where, and with which exit code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod building;
mod demo;
mod getting;
mod inspecting;
mod plan;
mod serving;
mod support;
mod usage;
