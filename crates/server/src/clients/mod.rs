//! Registered clients: their keys, and the tickets prepared for them.
//!
//! | file | contents |
//! |---|---|
//! | `config`, `status`, `error` | quotas, status reports, errors |
//! | `id`, `row`, `store`, `tickets` | clients and tickets in the tables |
//! | `tables`, `embedded` | the tables' storage, and the one in a file |
//! | `quota` | who may register, and who makes room |
//! | `key_files`, `key_cache` | keys on disk and, parsed, in memory |
//! | `clock`, `notify` | timestamps that survive jumps; notifications of the worker |
//! | `registry` | the registry: lookup, status and removal of clients |
//! | `uploads` | registration, in one request or in parts |
//! | `session` | keys and tickets of a query |
//! | `worker`, `turns` | prepares tickets beside queries, and removes expired clients |
//! | `directory` | offline access to a registry, for the operator |
//!
//! A client is a table row and a key file. The file is durable before the row refers to it, and is
//! removed after the row. A file without a row, left by a crash, is removed at the next start.

mod clock;
mod config;
mod directory;
mod embedded;
mod error;
mod id;
mod key_cache;
mod key_files;
mod notify;
mod quota;
mod registry;
mod row;
mod session;
mod status;
mod store;
mod tables;
mod tickets;
mod turns;
mod uploads;
mod worker;

pub use config::RegistryConfig;
pub use directory::RegistryDirectory;
pub(crate) use error::ClientError;
pub(crate) use id::ClientId;
pub(crate) use quota::owner;
pub(crate) use registry::Registry;
pub(crate) use session::{Credentials, keys, tickets};
pub(crate) use worker::Worker;
