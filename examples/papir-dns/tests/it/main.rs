//! The program before papir services on this machine, as its users' programs see it.
//!
//! `PAPIR` names the program `papir`, which builds and serves the databases.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod dig;
mod failures;
mod forwarding;
mod resolver;
mod support;
mod traffic;
