//! Registered clients: their keys, and the tickets prepared for them.
//!
//! | file | contents |
//! |---|---|
//! | `config`, `status`, `error` | quotas, status reports, errors |
//! | `id`, `row`, `store`, `tickets` | the tables, durable in one file |
//! | `key_files`, `key_cache` | keys on disk and, parsed, in memory |
//! | `clock`, `notify` | timestamps; notifications of the worker |
//! | `registry` | the registry: lookup, status and removal of clients |
//! | `uploads` | registration, in one request or in parts |
//! | `session` | keys and tickets of a query |
//! | `worker` | prepares tickets when no query is running, and removes expired clients |
//! | `directory` | offline access to a registry, for the operator |
//!
//! A client is a table row and a key file. The file is durable before the row refers to it, and is
//! removed after the row. A file without a row, left by a crash, is removed at the next start.

mod clock;
mod config;
mod directory;
mod error;
mod id;
mod key_cache;
mod key_files;
mod notify;
mod registry;
mod row;
mod session;
mod status;
mod store;
mod tickets;
mod uploads;
mod worker;

pub use config::RegistryConfig;
pub use directory::RegistryDirectory;
pub(crate) use error::ClientError;
pub(crate) use id::ClientId;
pub(crate) use registry::Registry;
pub(crate) use session::{Credentials, keys, tickets};
pub(crate) use worker::Worker;
