//! Tests against naive arithmetic, and of measured against predicted noise.
#![allow(clippy::unwrap_used)]

mod bootstrap;
mod cdks;
mod encryption;
mod inspiring;
mod partial;
mod support;
