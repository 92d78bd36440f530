//! Tests of the compiled program: output, streams and exit codes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod batches;
mod building;
mod clients;
mod configuration;
mod content_routing;
mod default_scheme;
mod demo;
mod deploying;
mod doctor;
mod encrypted;
mod faults;
mod following;
mod from_the_spec;
mod gateway_keys;
mod getting;
mod inspecting;
#[cfg(feature = "cloud")]
mod interrupted;
#[cfg(unix)]
mod issuer;
mod killed;
mod loading;
mod long_values;
mod manual;
#[cfg(target_os = "linux")]
mod many_databases;
mod messages;
mod monitoring;
mod newton;
#[cfg(target_os = "linux")]
mod notifying;
mod operating;
mod pins;
mod plan;
mod prefilter;
mod private_tokens;
mod protection;
mod proxies;
mod psi;
mod registered;
#[cfg(feature = "relay")]
mod relay;
#[cfg(feature = "relay")]
mod relayed;
#[cfg(feature = "cloud")]
mod remote;
mod replicas;
mod restarts;
mod serving;
mod several;
mod signing;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod slow_disk;
#[cfg(target_os = "linux")]
mod soak;
mod sources;
mod support;
mod timed;
mod timeouts;
mod tls;
mod traces;
mod updating;
mod usage;
mod verifying;
mod versions;
