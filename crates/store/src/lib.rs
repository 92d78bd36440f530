//! Sources and prepared snapshots: real data in, one file out, mapped at serving.
//!
//! | step | function |
//! |---|---|
//! | CSV, JSON Lines or raw file → snapshot file | [`build()`] |
//! | snapshot file → prepared database | [`Snapshot::open`] |
//! | what clients fetch | [`Snapshot::bundle`] |
//!
//! A snapshot holds everything that serving needs, every section with its checksum. It appears
//! under its name complete or not at all.

mod build;
mod error;
mod format;
mod indexed;
mod map;
mod metadata;
mod publish;
mod snapshot;
mod source;
mod writer;

pub use build::{BuildOptions, BuildReport, Preparation, build, build_with};
pub use error::{Error, Result};
pub use metadata::{KeywordSummary, Metadata, SourceSummary};
pub use snapshot::{OpenOptions, SectionInfo, Snapshot};
pub use source::Format;
