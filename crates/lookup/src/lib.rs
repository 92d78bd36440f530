//! Keyword lookup over any scheme.
//!
//! A scheme of [`papir_core`] answers "which record stands at this index". This crate makes keys
//! of it: a [`KeywordTable`] packs entries into buckets, each bucket is one record, and a small
//! public [`KeywordLayout`] tells a client which buckets a key can only stand in.
//!
//! | step | who | function |
//! |---|---|---|
//! | entries → records and layout | owner | [`build`] |
//! | table and changes → changed records | owner | [`update`] |
//! | public part and layout → one message | owner → client | [`Bundle`] |
//! | key → queries | client | [`Lookup::prepare_key`] |
//! | answers → value or "absent" | client | [`Pending::finish`] |
//! | many keys → few queries, where the database is prepared for batches | client | [`Lookup::prepare_batch`] |
//!
//! [`psi`] finds which of a few keys are in a large set, without showing either side's.
//!
//! Every lookup asks for the same number of records, whatever the key and whether it exists.

mod arrange;
mod bucket;
mod build;
mod bundle;
mod commitment;
mod dimensions;
mod error;
mod grid;
mod hash;
mod ids;
mod layout;
mod lookup;
mod place;
pub mod psi;
mod table;
pub mod update;

pub use build::{Entry, MAX_ROOM, OnDuplicate, TableOptions, build};
pub use bundle::Bundle;
pub use commitment::{Commitment, PlainRecords, ProvenRecords, Root, proof_bytes};
pub use dimensions::{BucketTarget, MAX_VALUE_BYTES};
pub use error::{Error, Result};
pub use ids::KeyIds;
pub use layout::KeywordLayout;
pub use lookup::{Lookup, Pending, Wanted};
pub use table::{KeywordTable, TableReport};
