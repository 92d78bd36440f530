//! Snapshots: prepared databases, each in one file mapped for serving.
//!
//! | step | function |
//! |---|---|
//! | file, folder, table or standard input → snapshot file | [`Build`] |
//! | rows or records of a program → snapshot file | [`Build`] of [`Given`], [`Build::records`] |
//! | plan of a build → columns, then slices, by [`Tasks`] | [`encode_task`], [`prepare_task`] |
//! | file, folder, table or standard input → shape of its database | [`survey()`] |
//! | snapshot and changes → next snapshot | [`update()`] |
//! | snapshot and changes, or more records → delta beside it | [`update_delta()`], [`append()`] |
//! | snapshot and a source that grows → one delta after another | [`Follower`] |
//! | snapshot and its delta → next snapshot | [`merge()`] |
//! | snapshot and an earlier version → next snapshot with its records | [`rollback()`] |
//! | snapshot file → prepared database | [`Snapshot::open`] |
//! | snapshot file → shard, combiner of shards | [`open_shard`], [`Snapshot::open_divided`] |
//! | snapshot → bundle for clients | [`Snapshot::bundle`] |
//! | snapshot → the same version, signed again or cosigned | [`sign()`], [`attach`] |
//! | snapshot file ↔ object store | [`remote`] |
//! | set for private intersection ↔ file | [`psi`] |
//! | connections to PostgreSQL | [`postgres`] |
//!
//! A snapshot contains everything needed for serving, with a checksum for every section. It is
//! published atomically: the file appears under its name complete or not at all.

mod build;
mod delta;
mod error;
mod file;
mod follow;
pub mod postgres;
pub mod psi;
mod publish;
pub mod remote;
mod snapshot;
mod source;
mod update;
mod versions;

pub use build::{
    Announce, Build, BuildOptions, BuildReport, ChooseBucket, Preparation, Prepare, PreparedServer,
    RunTasks, ScratchFolder, Survey, SurveyedKeys, TaskOptions, Tasks, add_rows, check_memory,
    encode_task, least_memory, prepare_task, survey,
};
pub use delta::{Delta, DeltaMetadata, delta_bytes, delta_file};
pub use error::{Error, Result};
pub use file::{
    CHECKPOINT, OWNER_KEYS, SEALED_OWNER_KEYS, Verify, formats, free_memory, open_regular,
};
pub use follow::{FollowOptions, Follower, OnBadRow, SlotOptions, Step, TornRow};
pub use publish::check_output;
pub use snapshot::{
    BucketSummary, Followed, KeywordSummary, Metadata, OpenOptions, SectionInfo, Sign, Snapshot,
    SourceSummary, StoredPrefilter, Verifier, division_of, is_database_name, open_shard,
    parse_timestamp, timestamp,
};
#[cfg(feature = "parquet")]
pub use source::each_arrow_row;
pub use source::{
    Cell, ChangeColumns, ChangeRow, Format, Given, GivenRows, KeyForm, KeyPattern, SkippedRow,
    TextForm, each_csv_row, expand, has_utf_16_mark, read_changes, without_mark,
};
pub use update::{
    AppendOptions, DeltaReport, Earlier, MergeOptions, Prediction, REBUILD_ROOM,
    REBUILD_ROOM_OF_FEW, RollbackOptions, UpdateOptions, UpdateReport, Way, append, merge,
    rollback, update, update_delta,
};
pub use versions::{KeptVersion, ReplacedVersion, attach, replaced, sign, stored_log, versions};
