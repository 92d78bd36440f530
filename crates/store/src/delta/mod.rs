//! Deltas: changes since a snapshot, in a file beside it.
//!
//! The delta of the version V of `FILE` is `FILE.V.delta`. It is named after its base, so renaming
//! the next base over `FILE` is the one step that replaces both. A file of a delta has the form of
//! a snapshot:
//!
//! | section | content |
//! |---|---|
//! | `delta` | [`DeltaMetadata`] |
//! | `delta.changes` | all changes since the base ([`DeltaChanges`]): only the owner needs them |
//! | `keyword` | the layout of the table of changes |
//! | `prefilter` | the filter of the changed keys, if the base has a filter |
//! | `commitment` | the top of the hash tree over its records, if the base is verifiable |
//! | `scheme.*` | the prepared table |
//! | `checkpoint` | the log of a signed base from its own leaf on, with a leaf for this delta |

mod bases;
mod file;
mod metadata;
mod write;

pub(crate) use bases::{check_base, refuse_with_delta};
pub use file::{Delta, delta_bytes, delta_file};
pub(crate) use file::{lock_deltas, remove};
pub use metadata::DeltaMetadata;
pub(crate) use write::{DeltaBase, write};
