//! Which file lies at a path: tells when another one has taken its place.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::SystemTime;

/// What tells one file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    bytes: u64,
    modified: Option<SystemTime>,
    /// Device and inode, where there are such.
    place: Option<(u64, u64)>,
}

impl Identity {
    /// The file at a path; `None` where there is none that can be looked at.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let (bytes, modified) = (metadata.len(), metadata.modified().ok());
        Some(Self { bytes, modified, place: place(&metadata) })
    }
}

#[cfg(unix)]
fn place(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn place(_: &Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn another_file_of_the_same_length_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let (path, next) = (folder.path().join("a"), folder.path().join("b"));
        assert_eq!(Identity::of(&path), None);
        fs::write(&path, "one").unwrap();
        fs::write(&next, "two").unwrap();
        let first = Identity::of(&path).unwrap();
        assert_eq!(Identity::of(&path), Some(first));
        fs::rename(&next, &path).unwrap();
        assert_ne!(Identity::of(&path), Some(first));
    }
}
