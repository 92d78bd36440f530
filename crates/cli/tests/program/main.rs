//! The compiled program: what it prints, where, and with which exit code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod batches;
mod building;
mod clients;
mod configuration;
mod demo;
mod encrypted;
mod getting;
mod inspecting;
mod loading;
mod manual;
mod newton;
mod operating;
mod plan;
mod protection;
mod psi;
mod registered;
#[cfg(feature = "cloud")]
mod remote;
mod serving;
mod sources;
mod support;
mod updating;
mod usage;
mod verifying;
