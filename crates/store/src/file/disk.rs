//! The disk that this process can still use.

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
