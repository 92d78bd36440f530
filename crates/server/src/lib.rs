//! The HTTP service: answers private queries to prepared databases over HTTP/1.1 and HTTP/2.
//!
//! | route | gives |
//! |---|---|
//! | `GET /v1/databases` | the databases, JSON |
//! | `GET /v1/databases/{name}` | one database: shape, scheme, version, sizes, JSON |
//! | `GET /v1/databases/{name}/public` | what a client starts from, binary; its `ETag` is the version |
//! | `POST /v1/databases/{name}/query` | one to `max_batch` queries back to back → as many answers |
//! | `POST`, `GET /v1/databases/{name}/clients`, … | registered clients: see `docs/formats.md` |
//! | `GET /v1/psi`, `GET /v1/psi/filter`, `POST /v1/psi/evaluate` | a set for private intersection |
//! | `GET /healthz`, `GET /readyz` | alive; all databases loaded |
//! | `GET /metrics` | counters, times and state, in the text form of Prometheus |
//! | `GET /openapi.json` | this interface, in OpenAPI 3.1 |
//!
//! Every refusal is JSON, `{"error":{"code","message"}}`: 400 malformed, 401 no good token, 403 a
//! token for something else, 404 unknown, 405 wrong method, 408 body too slow, 409 other version
//! (with `"version"`), 410 client gone or ticket used, 413 body too long, 429 no place left or one
//! client too many (with `Retry-After`), 500 the answer failed, 503 not loaded yet.
//!
//! Answers run on threads of their own, in a bounded number; requests of one version that wait for their
//! turn are answered together, with one read of the database. Logs hold sizes and times, never
//! bytes of a query. Each request has an id, `x-request-id`, the client's or one made for it: it
//! stands in the response and before each line of the log that belongs to the request.
//!
//! After a swap the version before is answered for a time, `keep_old`, and at most two old ones: a
//! query names its version in its envelope, and may in the header `papir-version`. For one that is
//! gone the refusal names the newest.

mod access;
mod answering;
mod api;
mod catalog;
mod checking;
mod config;
mod connections;
mod database;
mod duration;
mod error;
mod forwarded;
mod gate;
mod hangup;
mod housekeeping;
mod identify;
mod identity;
mod info;
mod limits;
mod listen;
mod memory;
mod metrics;
mod problem;
mod protection;
mod proxies;
mod psi;
mod registry;
mod routes;
mod service;
mod source;
mod upload;
mod versions;
mod watch;

pub use access::grant::Scope;
pub use access::token_file::{NewToken, TokenEntry, TokenFile};
pub use access::tokens::TokenSource;
pub use checking::check;
pub use config::{DatabaseConfig, QueryObserver, ServerConfig};
pub use database::Database;
pub use duration::parse_duration;
pub use error::Error;
pub use limits::{ClientLimits, Rate};
pub use listen::Listen;
pub use listen::tls::TlsFiles;
pub use protection::Protection;
pub use proxies::TrustedProxies;
pub use registry::{ClientStatus, RegistryConfig, RegistryCounts, RegistryDirectory};
pub use service::{BoundServer, ReloadHandle, Reloaded, Server};
pub use source::Sources;
