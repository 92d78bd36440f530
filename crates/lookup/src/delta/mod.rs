//! Deltas: recent changes of a database in a table beside it.
//!
//! A change of a large database costs about as much as preparing the database again. The cost of a
//! delta depends on the changes alone: it is a keyword table of the keys that changed since the
//! **base**, prepared by a scheme of its own. Every lookup queries both.
//!
//! | step | who | function |
//! |---|---|---|
//! | changes and the former delta's → one change per key | owner | [`DeltaChanges`] |
//! | changes → records and layout | owner | [`table()`] |
//! | public part and base → one message | owner → client | [`DeltaPart`] |
//! | key → queries to both | client | `Lookup::with_delta` |
//! | changes → changes of the base, which merge the delta | owner | `Changes::of_delta` |
//!
//! The seeds of the table's layout and of the scheme are drawn for each delta after its changes are
//! fixed. An attacker who can choose changes therefore cannot choose them by the seeds.

mod bounds;
mod changes;
mod part;
mod table;
mod word;

pub use bounds::{CHANGE_BYTES, MAX_DELTA_BYTES, MAX_QUERIES_BYTES, SCHEME, refusal};
pub use changes::DeltaChanges;
pub use part::{DELTA_FORMATS, DeltaPart};
pub use table::table;
pub use word::MAX_DELTA_VALUE_BYTES;
pub(crate) use word::Word;
