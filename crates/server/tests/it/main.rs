//! Tests of servers on loopback, from request to answer.
//!
//! All tests are one binary, so that it is linked once. A test that needs its own process starts
//! one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod alerting;
mod asynchronous;
mod batching;
mod blocks;
mod cached;
mod cancelled;
mod client_certificates;
mod cold_keys;
mod cors;
mod deltas;
mod divided;
mod endless;
mod hostile;
mod issuer;
mod limits;
mod logs;
mod lookups;
mod malformed;
#[cfg(target_os = "linux")]
mod many_versions;
mod metrics;
mod ohttp;
mod on_device;
mod openapi;
mod prefilter;
mod pressure;
mod private_tokens;
mod protocol;
mod proxies;
mod readiness;
mod refusals;
mod registry;
mod registry_killed;
mod relay;
mod reload;
mod replacing;
mod several;
mod several_sets;
mod shared_registry;
mod short_messages;
mod signed;
mod stateful_client;
mod support;
mod tls;
mod token_clients;
mod traffic;
mod verifiable;
mod verification;
mod versions;
mod watch;
