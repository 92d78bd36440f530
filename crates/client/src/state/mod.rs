//! Files of client state, one set for each database of a service.
//!
//! | file | contents |
//! |---|---|
//! | `sealed` | the format of a state file: with a checksum, or encrypted under a passphrase |
//! | `slot` | the files of one database: locked, replaced atomically, durable |
//! | `place` | the place of the files, which their state is bound to |
//! | `public_parts` | copies of public parts |
//! | `disk` | private files, replaced atomically |
//! | `files` | storage of the protocol core in these files; the default directory |
//!
//! A query uses up state that must never be used again. Therefore the changed state is on disk
//! before the query is sent, and only one process at a time changes it.

mod disk;
mod files;
mod place;
mod public_parts;
mod sealed;
mod slot;

pub use files::{StateFiles, default_state_directory};
pub use sealed::Passphrase;

pub(crate) use sealed::{OpenError, parse, write};
