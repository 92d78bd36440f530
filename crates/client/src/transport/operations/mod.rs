//! The public operations, written once for the blocking and the asynchronous client.
//!
//! Each macro defines the same functions and documentation in both clients. Its first argument is
//! `[]` or `[async]`, the second one is what follows a call: `[]` or `[.await]`. Names in a macro
//! are those of the module that invokes it, above all its `Transport`.

pub(crate) mod connection;
pub(crate) mod psi;
pub(crate) mod registrations;
pub(crate) mod servers;
