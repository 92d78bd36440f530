//! The default directory of client state.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// The default directory of client state: `$XDG_DATA_HOME/papir` or `~/.local/share/papir`; `None`
/// if neither variable is set.
pub fn default_state_directory() -> Option<PathBuf> {
    let folder = |name| env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    let data = folder("XDG_DATA_HOME").or_else(|| Some(folder("HOME")?.join(".local/share")))?;
    Some(data.join("papir"))
}
