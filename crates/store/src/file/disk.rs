//! The disk that this process can still use.

use std::fs::File;
use std::path::Path;

use super::names::shown;
use crate::error::{Error, Result};

/// Bytes of disk that this user can still use in a folder; `None` if the system does not say.
pub(crate) fn free_disk(folder: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let found = rustix::fs::statvfs(folder).ok()?;
        // A file system without a size, such as many in user space, does not say.
        if found.f_blocks == 0 {
            return None;
        }
        found.f_bavail.checked_mul(found.f_frsize)
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        None
    }
}

/// Refuses work in a folder that needs more bytes of disk than are free there. `file` is named in
/// the error.
///
/// # Errors
/// [`Error::Disk`].
pub(crate) fn check_disk(file: &Path, folder: &Path, needed: u64) -> Result<()> {
    match free_disk(folder) {
        Some(free) if free < needed => Err(Error::Disk {
            file: shown(file),
            needed,
            free,
        }),
        _ => Ok(()),
    }
}

/// Gives back the space of a range of a file, which reads as zeros then and keeps its length.
/// Returns false if the file system cannot; then the space stays taken until the file is removed.
pub(crate) fn free_range(file: &File, at: u64, bytes: u64) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};

        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(file, hole, at, bytes).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, at, bytes);
        false
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_free_disk_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        check_disk(&file, folder.path(), 1).unwrap();
        let error = check_disk(&file, folder.path(), u64::MAX).unwrap_err();
        assert_eq!(error.code(), "disk");
        assert!(free_disk(&folder.path().join("none")).is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_system_without_a_size_has_room() {
        let folder = Path::new("/proc");
        assert_eq!(free_disk(folder), None);
        check_disk(folder, folder, u64::MAX).unwrap();
    }
}
