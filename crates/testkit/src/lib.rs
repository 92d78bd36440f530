//! Conformance suite and noise statistics, for tests only.
//!
//! [`conformance::run`] holds one scheme to the whole interface of `papir_core`; a test over the
//! registry gives it every scheme there is. [`noise`] compares measured noise with a bound.
//! [`stateful`] is a scheme with client keys, tickets and state, for testing what surrounds such schemes.
//! Everything here fails by panicking with the reason, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod conformance;
pub mod noise;
pub mod stateful;
