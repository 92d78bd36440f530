//! Names of the files of versions next to a snapshot.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::{PARTIAL, split};
use crate::error::{Error, Result};

/// Hexadecimal digits of a version.
const VERSION_DIGITS: usize = 16;
/// End of the name of a version's delta.
pub(crate) const DELTA_SUFFIX: &str = ".delta";

/// Ends of the names of hidden files and folders beside a snapshot.
const HIDDEN: [&str; 6] = [
    PARTIAL,
    ".papir-build",
    ".papir-download",
    ".papir-passed",
    ".papir-passed.new",
    ".delta-lock",
];

/// Returns whether `found`, in the folder of the snapshot `name`, is the snapshot, a version or
/// delta of it, or a hidden file that papir writes beside it.
pub(crate) fn belongs_to(name: &OsString, found: &OsString) -> bool {
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".");

    let bytes = found.as_encoded_bytes();
    let is_hidden = bytes.starts_with(prefix.as_encoded_bytes())
        && HIDDEN.iter().any(|end| bytes.ends_with(end.as_bytes()));
    let is_version = ["", DELTA_SUFFIX]
        .into_iter()
        .any(|end| version_in(name, found, end).is_some());
    found == name || is_hidden || is_version
}

/// A file named like that of a kept version.
pub(crate) struct VersionFile {
    pub(crate) path: PathBuf,
    pub(crate) version: String,
}

/// The files next to `file` named `FILE.VERSION`, with this end.
pub(crate) fn files_of_versions(file: &Path, end: &str) -> Result<Vec<VersionFile>> {
    let (directory, name) = split(file)?;
    let entries = fs::read_dir(&directory).map_err(Error::io("reading", &directory))?;

    let mut found = Vec::new();
    // A file that vanishes meanwhile is not there.
    for entry in entries.flatten() {
        if let Some(version) = version_in(&name, &entry.file_name(), end) {
            let path = entry.path();
            found.push(VersionFile { path, version });
        }
    }
    Ok(found)
}

/// The path at which a version of `file` is kept.
pub(crate) fn kept_path(file: &Path, version: &str) -> Result<PathBuf> {
    let (directory, mut name) = split(file)?;
    name.push(".");
    name.push(version);
    Ok(directory.join(name))
}

/// The file of the delta of a version that is kept, or would be kept, in this file.
pub(crate) fn delta_of(kept: PathBuf) -> PathBuf {
    let mut path = kept.into_os_string();
    path.push(DELTA_SUFFIX);
    path.into()
}

/// The version in a file name of the form `NAME.VERSION`, with this end.
fn version_in(name: &OsString, found: &OsString, end: &str) -> Option<String> {
    // Digits exactly as papir writes them: a file of somebody else beside the snapshot must not be
    // pruned.
    let rest = found
        .to_str()?
        .strip_suffix(end)?
        .strip_prefix(name.to_str()?)?
        .strip_prefix('.')?;
    (rest.len() == VERSION_DIGITS && rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .then(|| rest.to_owned())
}
