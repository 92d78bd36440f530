//! Files of client state, one set for each database of a service.
//!
//! | file | content |
//! |---|---|
//! | `directory` | the default directory |
//! | `sealed` | a state file's bytes: in the clear with a checksum, or under a passphrase |
//! | `slot` | the files of one database: locked, replaced whole, durable |
//! | `files` | the slots as the storage of the protocol core |
//!
//! A query uses up state that must never be used again. So the changed state is on disk before the
//! query leaves, and one process at a time changes it.

mod directory;
mod files;
mod sealed;
mod slot;

pub use directory::default_state_directory;
pub use files::StateFiles;
pub use sealed::Passphrase;

pub(crate) use sealed::{Unopened, parse, write};
