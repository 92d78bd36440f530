//! Identity of files, which detects a replaced file.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::SystemTime;

/// Identifies a file without reading its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    bytes: u64,
    modified: Option<SystemTime>,
    /// Device and inode, if the system has them.
    inode: Option<(u64, u64)>,
}

/// The files of a database: its snapshot, and the delta of the version that is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files {
    pub(crate) snapshot: Option<Identity>,
    pub(crate) delta: Option<Identity>,
}

impl Identity {
    /// The file at `path`; `None` if its metadata cannot be read.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let bytes = metadata.len();
        let modified = metadata.modified().ok();
        Some(Self {
            bytes,
            modified,
            inode: inode(&metadata),
        })
    }
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_of_equal_length_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let next = folder.path().join("b");

        assert_eq!(Identity::of(&path), None);

        fs::write(&path, "one").unwrap();
        fs::write(&next, "two").unwrap();
        let first = Identity::of(&path).unwrap();
        assert_eq!(Identity::of(&path), Some(first));

        fs::rename(&next, &path).unwrap();
        assert_ne!(Identity::of(&path), Some(first));
    }
}
