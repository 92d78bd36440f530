//! Builds of databases larger than memory.
//!
//! Everything that grows with the database is in files of a folder beside the snapshot: runs of
//! entries that are sorted one by one, buckets, and the scheme's matrices, which are mapped.
//! Finished parts stay there if the build is interrupted. The next build with the same options
//! continues with them.

mod claim;
mod folder;
mod read;
mod runs;
mod stored;

pub(super) use folder::BuildFolder;
pub(super) use read::{read, records_part, remove_records};
pub(super) use runs::{check_memory, most_bytes};
pub(super) use stored::begin_preparing;
