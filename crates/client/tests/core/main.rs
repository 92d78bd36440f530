//! Tests of the protocol core against a scripted peer: its requests and their order.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod checkpoints;
mod downloads;
mod exchanges;
mod foreign;
mod gateways;
mod keys_ahead;
mod known;
mod lookups;
mod lying;
mod patched_versions;
mod patches;
mod peer;
mod places;
mod public_parts;
mod registered;
mod roots;
mod rotation;
mod scheduled;
mod sets;
mod short_messages;
mod signing;
mod ticket_table;
mod tickets;
mod traces;
mod vectors;
