//! Services on loopback, from request to answer. One program of all tests, for it is linked once; a test
//! that needs a process to itself starts one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod hostile;
mod limits;
mod logs;
mod lookups;
mod malformed;
mod metrics;
mod openapi;
mod pressure;
mod protocol;
mod refusals;
mod registry;
mod registry_killed;
mod reload;
mod replacing;
mod stateful_client;
mod support;
mod tls;
mod together;
mod traffic;
mod verifiable;
mod versions;
mod watch;
