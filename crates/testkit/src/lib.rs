//! Conformance suite, noise statistics and a stateful test scheme.
//!
//! [`conformance::run`] checks one scheme against the whole interface of `papir_core`; a test runs
//! it for every scheme in the registry. [`noise`] compares measured noise with a bound.
//! [`stateful`] is a scheme with client keys, tickets and state, for testing code around such
//! schemes. [`device`] multiplies matrices as a GPU does. [`postgres`] runs servers, [`proxy`]
//! records connections, and [`sockets`] makes folders for sockets. [`typed`] checks schemes through
//! their typed interface. A [`GuardedChild`] is a process that ends with its test, and [`Stuck`] a
//! generator that repeats itself. For tests only: failures panic with the reason.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod conformance;
pub mod device;
mod guarded;
pub mod noise;
#[cfg(unix)]
pub mod postgres;
pub mod proxy;
#[cfg(unix)]
pub mod sockets;
pub mod stateful;
mod stuck;
pub mod typed;

pub use guarded::GuardedChild;
pub use stuck::Stuck;
