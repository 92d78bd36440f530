//! papir's client in WebAssembly.
//!
//! The module does no I/O. JavaScript calls a function, which returns an event: a request to send,
//! a change of the storage, a wait, or a result. JavaScript performs it and resumes the task. An
//! event is a head in JSON and a body of bytes, so that the interface needs no generated code
//! (docs/decisions/0053-webassembly.md).
//!
//! | module | contents |
//! |---|---|
//! | `memory` | bytes that JavaScript writes and Rust owns |
//! | `host` | clock and randomness of the page |
//! | `options`, `schemes` | options of a connection; the schemes in this module |
//! | `event`, `paused` | events; tasks that wait for JavaScript |
//! | `task` | steps of tasks; requests that cost tokens (feature `tokens`) |
//! | `exchange`, `store` | requests to the network and to the storage |
//! | `route`, `relayed` (feature `relay`) | the way of requests; requests through a relay |
//! | `database` | the exported functions: open, move, look up, close |
#![cfg(target_arch = "wasm32")]

mod database;
mod event;
mod exchange;
mod host;
mod memory;
mod options;
mod paused;
#[cfg(feature = "relay")]
mod relayed;
mod route;
mod schemes;
mod store;
mod task;
