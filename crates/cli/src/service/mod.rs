//! A running service: configuration, background loops, logs, machine limits.

pub(crate) mod config;
pub(crate) mod follow_loop;
pub(crate) mod forwarding;
pub(crate) mod merge_loop;
pub(crate) mod observed_query;
pub(crate) mod open_files;
pub(crate) mod panics;
pub(crate) mod private_tokens;
pub(crate) mod systemd;
pub(crate) mod traces;
pub(crate) mod unused_tokens;
