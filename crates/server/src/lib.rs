//! The HTTP service: answers private queries to prepared databases over HTTP/1.1 and HTTP/2.
//!
//! | route | gives |
//! |---|---|
//! | `GET /v1/databases` | the databases, JSON |
//! | `GET /v1/databases/{name}` | one database: shape, scheme, version, sizes, JSON |
//! | `GET /v1/databases/{name}/public` | what a client starts from, binary; its `ETag` is the version |
//! | `POST /v1/databases/{name}/query` | one to `max_batch` queries back to back → as many answers |
//! | `GET /healthz`, `GET /readyz` | alive; all databases loaded |
//!
//! Every refusal is JSON, `{"error":{"code","message"}}`: 400 malformed, 404 unknown, 405 wrong
//! method, 408 body too slow, 409 other version (with `"version"`), 413 body too long, 429 no place
//! left (with `Retry-After`), 500 the answer failed, 503 not loaded yet.
//!
//! Answers run on threads of their own, in a bounded number; logs hold sizes and times, never
//! bytes of a query.

mod api;
mod catalog;
mod config;
mod database;
mod error;
mod gate;
mod hangup;
mod info;
mod problem;
mod service;
mod upload;

pub use config::{DatabaseConfig, QueryObserver, ServerConfig};
pub use database::Database;
pub use error::Error;
pub use service::{BoundServer, ReloadHandle, Reloaded, Server};
