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

    /// Returns whether a file that had the identity `before` at an earlier look is not being
    /// written now: it is the same, or another file has taken its place by renaming. A file that is
    /// written in place keeps its inode.
    fn is_settled(self, before: Self) -> bool {
        let is_other = self.inode.is_some() && before.inode.is_some() && self.inode != before.inode;
        self == before || is_other
    }
}

impl Files {
    /// Returns whether these files can be loaded, if they were `before` at an earlier look. The
    /// delta does not matter: it is short, its checksums are verified, and one that is published
    /// again and again would never be found twice.
    pub(crate) fn are_settled(&self, before: &Self) -> bool {
        match (self.snapshot, before.snapshot) {
            (Some(now), Some(before)) => now.is_settled(before),
            (now, before) => now == before,
        }
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

    #[test]
    fn a_file_that_grows_in_place_is_not_settled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one").unwrap();
        let first = Identity::of(&path).unwrap();
        assert!(first.is_settled(first));

        let grown = Identity { bytes: 4, ..first };
        assert!(!grown.is_settled(first));

        let other = Identity {
            inode: Some((0, 0)),
            ..grown
        };
        assert!(other.is_settled(first), "a file in its place");
        let unknown = Identity {
            inode: None,
            ..grown
        };
        assert!(!unknown.is_settled(first), "a system without inodes");
    }

    #[test]
    fn a_delta_that_changes_at_each_look_does_not_hold_up_its_base() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "base").unwrap();
        let snapshot = Identity::of(&path);
        let delta = snapshot.map(|file| Identity { bytes: 9, ..file });

        let before = Files {
            snapshot,
            delta: None,
        };
        let now = Files { snapshot, delta };
        assert!(now.are_settled(&before) && before.are_settled(&now));

        let gone = Files {
            snapshot: None,
            delta,
        };
        assert!(!gone.are_settled(&now) && gone.are_settled(&gone));
    }
}
