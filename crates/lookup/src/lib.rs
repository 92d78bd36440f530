//! Private lookups by key over any scheme.
//!
//! A scheme of [`papir_core`] retrieves the record at an index. This crate adds lookups by key. A
//! [`KeywordTable`] packs entries into buckets, each bucket is one record, and a small public
//! [`KeywordLayout`] tells clients which buckets can hold a key.
//!
//! | step | who | function |
//! |---|---|---|
//! | entries → records and layout | owner | [`build`] |
//! | more entries than fit in memory | owner | [`outside::build`] |
//! | table and changes → changed records | owner | [`update`] |
//! | public part and layout → one message | owner → client | [`Bundle`] |
//! | older message and blocks → newer message | client | [`BlockList`] |
//! | key → queries | client | [`Lookup::prepare_key`] |
//! | answers → value or "absent" | client | [`Pending::finish`] |
//! | many keys → few queries, in batches | client | [`Lookup::prepare_batch`] |
//!
//! [`delta`] has tables of recent changes beside a database. [`psi`] intersects a small set with a
//! large one; both sides' other elements stay private, by the function of [`oprf`]. [`prefilter`]
//! has small public sets of keys, with which clients look up only keys that may exist.
//!
//! Every lookup fetches the same number of records, for every key and even if the key does not
//! exist.

mod arrange;
mod blocks;
mod bucket;
mod build;
mod bundle;
mod commitment;
pub mod delta;
mod dimensions;
mod entry;
mod error;
mod estimate;
mod fill;
mod grid;
mod hash;
mod ids;
mod items;
mod layout;
mod lookup;
pub mod oprf;
mod options;
pub mod outside;
mod placement;
pub mod prefilter;
pub mod psi;
mod table;
pub mod update;
mod weights;

pub use blocks::{BLOCK_LIST_FORMATS, BlockList, BlockRanges, MAX_RANGES, block_bytes};
pub use build::build;
pub use bundle::{BUNDLE_FORMATS, Bundle};
pub use commitment::{Commitment, PlainRecords, ProvenRecords, Root, proof_bytes};
pub use dimensions::{BucketTarget, DEFAULT_BUCKET_BYTES, Lengths, MAX_VALUE_BYTES};
pub use entry::{Entry, name_duplicate};
pub use error::{Error, Result};
pub use estimate::{Estimate, LABEL_SLACK, choose_bucket, least_table};
pub use ids::KeyIds;
pub use layout::{KeywordLayout, LAYOUT_FORMATS, LAYOUT_HEADER_BYTES, PILOT_BYTES};
pub use lookup::{AnswerLengths, Lookup, Pending, Wanted};
pub use options::{MAX_ROOM, OnDuplicate, TableOptions};
pub use table::{KeywordTable, TableReport};
