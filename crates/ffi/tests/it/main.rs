//! The functions that Kotlin and Swift call, before real services.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod lookups;
mod messages;
mod relays;
mod schedules;
mod servers;
mod support;
mod tokens;
