//! The interface between private information retrieval (PIR) schemes and the rest of papir.
//!
//! This crate contains no cryptography. A scheme has four operations:
//!
//! | verb | who | what |
//! |---|---|---|
//! | `setup` | server or owner, offline | records → prepared database and its public part |
//! | `query` | client | indices → a secret (kept) and a query (sent) |
//! | `answer` | server | query → answer, reading the whole database |
//! | `extract` | client | secret (consumed) and answer → records |
//!
//! [`scheme`] defines them with types, and [`erased`] with bytes, for servers, command lines and
//! bindings. [`cost`] predicts their run time, [`hedge`] makes randomness that does not repeat, and
//! [`hash_tree`] hashes bytes in blocks that can be verified one by one. The other modules define
//! the types that they use: [`Shape`], [`Records`], [`Sizes`], [`Version`], [`envelope`],
//! [`short`], [`Error`].

#[cfg(not(target_endian = "little"))]
compile_error!("papir's formats are little-endian in memory and on the wire");

mod blob;
mod candidate;
pub mod certificate;
mod choice;
pub mod codec;
pub mod cost;
mod decimal;
pub mod device;
mod division;
pub mod envelope;
pub mod erased;
mod error;
mod failure;
mod file_lock;
mod formats;
pub mod hash_tree;
pub mod hedge;
mod mix;
mod owner;
pub mod parallel;
mod prepared;
mod progress;
mod records;
mod redact;
mod run;
pub mod scheme;
pub mod scratch;
pub mod sections;
mod shape;
pub mod short;
mod sizes;
mod terms;
mod version;

pub use blob::{AlignedBytes, Blob, BlobSlice, MappedBytes};
pub use candidate::Candidate;
pub use choice::{Choice, Goal, Target};
pub use decimal::decimal;
pub use division::{DividedDescription, Division};
pub use error::{Error, Result, shown_bytes};
pub use failure::FailureBound;
pub use file_lock::FileLock;
pub use formats::Formats;
pub use mix::mix;
pub use owner::OwnerKey;
pub use prepared::PreparedRecords;
pub use progress::{NoProgress, Progress};
pub use records::{
    Change, Record, RecordBuffer, Records, check_read, copy_packed, extract_bits, read_record,
};
pub use redact::without_passwords;
pub use run::Run;
pub use shape::{MAX_RECORD_BITS, MAX_RECORDS, Shape};
pub use sizes::{
    Description, Limits, MAX_MESSAGE_BYTES, MAX_PUBLIC_BYTES, NotPrivate, Privacy, Security, Sizes,
    UpdateCost,
};
pub use terms::Terms;
pub use version::Version;
