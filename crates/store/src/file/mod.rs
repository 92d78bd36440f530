//! The container format of snapshot files: sections, read and written.
//!
//! | file | contents |
//! |---|---|
//! | `format` | header, sections and the table of sections |
//! | `formats` | format numbers of files, written and read |
//! | `section_names` | names of a snapshot's sections |
//! | `sections` | the sections of a file, and their verification |
//! | `chunks` | the values of a section's chunks, and their check |
//! | `writer` | writes a file section by section |
//! | `map` | files as bytes: mapped, or read into memory |
//! | `open` | opens regular files without waiting |
//! | `disk` | the disk that this process can still use |
//! | `memory` | the memory that this process can still use |
//! | `names` | names of files in errors and metadata, and standard input |

mod chunks;
mod disk;
mod format;
pub mod formats;
mod map;
mod memory;
mod names;
mod open;
mod section_names;
mod sections;
mod writer;

pub(crate) use disk::{check_disk, free_range};
#[cfg(feature = "cloud")]
pub(crate) use format::{HEADER_BYTES, stated_length};
pub(crate) use format::{Section, has_magic};
pub(crate) use map::{create_mapped, map, map_blob, read};
pub use memory::free_memory;
pub(crate) use names::{is_standard_input, name_of, shown, stem_of};
#[cfg(feature = "cloud")]
pub(crate) use open::is_special;
pub use open::open_regular;
pub(crate) use open::open_regular_with;
pub use section_names::{CHECKPOINT, OWNER_KEYS, SEALED_OWNER_KEYS};
pub(crate) use section_names::{
    CHUNKS, COMMITMENT, DELTA, DELTA_CHANGES, KEYWORD, METADATA, PREFILTER, SCHEME, SET,
};
pub use sections::Verify;
pub(crate) use sections::{FilePiece, Sections, VerifiedParts};
pub(crate) use writer::SnapshotWriter;
