//! Registered clients: their keys, and the tickets prepared for them.
//!
//! | file | contents |
//! |---|---|
//! | `config`, `status`, `error` | quotas, status reports, errors |
//! | `id`, `row`, `numbers` | contents of the tables: clients, claims, tickets |
//! | `store`, `tickets` | rules for adding clients, and for claiming, taking and dropping tickets |
//! | `tables`, `embedded`, `postgres` | storage of the tables: one file, or a shared server |
//! | `open` | opens a registry |
//! | `quota` | quotas of a database and of each owner |
//! | `keys`, `key_files`, `key_cache` | storage of keys: files; parsed keys in memory |
//! | `known_keys`, `keys_digest` | digests of registered keys, which no second client may use |
//! | `spent`, `spent_token` | private tokens of Privacy Pass, each of which is spent once |
//! | `clock`, `notify` | timestamps that survive jumps; notifications of the worker |
//! | `registry` | the registry: lookup, status and removal of clients |
//! | `uploads` | registration, in one request or in parts |
//! | `session` | keys and tickets of a query |
//! | `worker`, `turns` | prepares tickets beside queries, and removes expired clients |
//! | `ticket_order` | order in which clients have tickets prepared |
//! | `stored` | access to a registry without its services, for the operator |
//!
//! A client is a table row and its keys. The keys are durable before the row says that they are
//! complete, and are removed after the row. Keys without a row, left by a crash, are removed at the
//! next start.

mod clock;
mod config;
mod embedded;
mod error;
mod id;
mod key_cache;
mod key_files;
mod keys;
mod keys_digest;
mod known_keys;
mod notify;
mod numbers;
mod open;
#[cfg(feature = "postgres")]
mod postgres;
mod quota;
mod registry;
mod row;
mod session;
mod spent;
mod spent_token;
mod status;
mod store;
mod stored;
mod tables;
#[cfg(test)]
mod test_stores;
mod ticket_order;
mod tickets;
mod turns;
mod uploads;
mod worker;

pub use config::{PostgresConfig, RegistryConfig, RegistryPlace};
pub(crate) use error::ClientError;
pub(crate) use id::ClientId;
pub(crate) use quota::owner_of;
pub(crate) use registry::Registry;
pub(crate) use row::Owner;
pub(crate) use session::{Credentials, keys, keys_for_answer, tickets};
pub(crate) use spent_token::{IssuerKeyId, SpentToken};
pub use stored::StoredRegistry;
pub(crate) use worker::Worker;
