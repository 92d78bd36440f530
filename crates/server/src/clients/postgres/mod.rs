//! The tables in PostgreSQL, shared by several services.
//!
//! | file | contents |
//! |---|---|
//! | `sessions` | connections to the primary, their pool, and transactions on them |
//! | `health` | state of the primary and of the connections to it |
//! | `durability` | settings under which a commit is never lost |
//! | `schema`, `origin` | the tables' definitions; the history that they belong to |
//! | `tables`, `spent` | row operations within a transaction |
//! | `keys` | client keys, in the tables or in an object store |
//!
//! A claim of a ticket number is one row, inserted unless it exists. So the database itself holds
//! that a number belongs to one query, whatever services and clients do.

mod durability;
mod health;
mod keys;
mod origin;
mod schema;
mod sessions;
mod spent;
mod tables;

pub(super) use keys::PostgresKeys;
pub(super) use tables::PostgresTables;
