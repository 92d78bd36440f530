//! What a registered client keeps between processes, in one file for each database of a service.
//!
//! | file | what |
//! |---|---|
//! | `sealed` | the file's bytes: in the clear with a checksum, or under a passphrase |
//! | `record` | what stands in them: the client's name and its state |
//! | `slot` | the file itself: locked, replaced as a whole, durable |
//!
//! A query uses up something that may never be used again. So the changed state is on disk before
//! the query leaves, and one process at a time changes it.

mod record;
mod sealed;
mod slot;

pub use sealed::Passphrase;

pub(crate) use record::Record;
pub(crate) use sealed::Unopened;
pub(crate) use slot::{Lock, Slot};

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use papir_core::Result;
use zeroize::Zeroizing;

/// A record as a file's bytes.
pub(crate) fn write(record: &Record, passphrase: Option<&Passphrase>) -> Result<Zeroizing<Vec<u8>>> {
    sealed::seal(&record.encode(), passphrase)
}

/// The record in a file's bytes.
pub(crate) fn parse(file: &[u8], passphrase: Option<&Passphrase>) -> std::result::Result<Record, Unopened> {
    Ok(Record::decode(&sealed::open(file, passphrase)?)?)
}

/// Where state is kept unless told otherwise: `$XDG_DATA_HOME/papir`, or `~/.local/share/papir`;
/// `None` for a user without either.
pub fn default_state_directory() -> Option<PathBuf> {
    let folder = |name| env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    let data = folder("XDG_DATA_HOME").or_else(|| Some(folder("HOME")?.join(".local/share")))?;
    Some(data.join("papir"))
}
