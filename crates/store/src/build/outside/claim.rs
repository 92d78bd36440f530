//! Claims the folder of a build: one that this user's builds made.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::Path;

use crate::error::{Error, Result};

/// The file that a running build has locked.
pub(super) const LOCK: &str = "lock";
/// The file with the build's options and seed.
pub(super) const BUILD: &str = "build.json";

/// Creates a folder that only its owner may read, since it holds rows in plain text. Takes one that
/// exists only if a build of this user made it: whatever else is there would be removed, and
/// another user's folder would give the rows away.
pub(super) fn claim(folder: &Path) -> Result<()> {
    let is_new = match create_private(folder) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => return Err(Error::io("creating", folder)(error)),
    };

    // The metadata of the path itself: a link may lead to any folder.
    let found = fs::symlink_metadata(folder).map_err(Error::io("reading", folder))?;
    if !found.is_dir() {
        return Err(refused(folder, "no folder"));
    }
    if let Some(reason) = foreign(&found, is_new) {
        return Err(refused(folder, reason));
    }
    check_content(folder)
}

fn create_private(folder: &Path) -> std::io::Result<()> {
    let mut private = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
    private.create(folder)
}

/// The reason why a folder may be another user's, or may be read by others. The mode of a new
/// folder is as private as its file system can make it: some have one mode for all files.
#[cfg(unix)]
fn foreign(found: &Metadata, is_new: bool) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;

    // Another user could read the rows there, or replace parts while they are read.
    if found.uid() != rustix::process::geteuid().as_raw() {
        Some("of another user")
    } else if !is_new && found.mode() & 0o077 != 0 {
        Some("open to other users")
    } else {
        None
    }
}

#[cfg(not(unix))]
fn foreign(_: &Metadata, _: bool) -> Option<&'static str> {
    None
}

/// Refuses a folder with files that no build made. A build makes its lock first and its description
/// second.
fn check_content(folder: &Path) -> Result<()> {
    let files = fs::read_dir(folder).map_err(Error::io("reading", folder))?;
    let mut has_lock = false;
    let mut has_description = false;
    let mut has_others = false;

    for file in files {
        let file = file.map_err(Error::io("reading", folder))?;
        let kind = file.file_type().map_err(Error::io("reading", folder))?;
        // A link is no file here: opened in the place of one, it would lead out of the folder.
        if !kind.is_file() {
            return Err(refused(folder, "with more than files"));
        }

        let name = file.file_name();
        if name == LOCK {
            has_lock = true;
        } else if name == BUILD {
            has_description = true;
        } else {
            has_others = true;
        }
    }

    if (has_others && !has_description) || (has_description && !has_lock) {
        return Err(refused(folder, "that no build made"));
    }
    Ok(())
}

/// Removes everything but the lock. The description goes last: without it, other files are not
/// known as a build's own.
pub(super) fn clear(folder: &Path) -> Result<()> {
    let mut names = Vec::new();
    for file in fs::read_dir(folder).map_err(Error::io("reading", folder))? {
        let file = file.map_err(Error::io("reading", folder))?;
        names.push(file.file_name());
    }

    // The lock stays: a removed one would let a second build lock another file of that name.
    names.retain(|name| name != LOCK);
    names.sort_unstable_by_key(|name| name == BUILD);
    for name in names {
        fs::remove_file(folder.join(name)).map_err(Error::io("clearing", folder))?;
    }
    Ok(())
}

fn refused(folder: &Path, reason: &str) -> Error {
    Error::options(
        format!("{}, the folder of the build, {reason}", folder.display()),
        "none, or one that an interrupted build of this user left: remove it",
    )
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn refusal(folder: &Path) -> String {
        claim(folder).unwrap_err().to_string()
    }

    #[test]
    fn only_a_folder_of_a_build_is_taken() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("build");
        let mode = || fs::metadata(&folder).unwrap().permissions().mode() & 0o777;

        // New, begun, and with parts.
        claim(&folder).unwrap();
        assert_eq!(mode(), 0o700);
        for name in [LOCK, BUILD, "rows.runs"] {
            fs::write(folder.join(name), "").unwrap();
            claim(&folder).unwrap();
        }

        fs::set_permissions(&folder, Permissions::from_mode(0o750)).unwrap();
        assert!(refusal(&folder).contains("open to other users"));
        assert_eq!(mode(), 0o750, "left as it is");
        // The mode of a new folder on a file system with one mode for all files.
        let found = fs::metadata(&folder).unwrap();
        assert_eq!(foreign(&found, true), None);

        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        fs::remove_file(folder.join(BUILD)).unwrap();
        assert!(refusal(&folder).contains("that no build made"));
    }

    #[test]
    fn a_folder_is_known_until_all_its_parts_are_removed() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("build");
        claim(&folder).unwrap();
        for name in [LOCK, BUILD, "rows.runs", "zeros"] {
            fs::write(folder.join(name), "").unwrap();
        }

        // A folder is not removed as a file is: the work ends there, as if it were killed.
        fs::create_dir(folder.join("stuck")).unwrap();
        assert!(clear(&folder).is_err());
        fs::remove_dir(folder.join("stuck")).unwrap();
        claim(&folder).unwrap();

        clear(&folder).unwrap();
        claim(&folder).unwrap();
        assert!(folder.join(LOCK).exists() && !folder.join(BUILD).exists());
    }

    #[test]
    fn links_and_other_files_are_refused() {
        let outside = tempfile::tempdir().unwrap();
        let path = |name: &str| outside.path().join(name);
        let precious = path("precious");
        claim(&precious).unwrap();
        fs::write(precious.join("text"), "precious").unwrap();
        assert!(refusal(&precious).contains("that no build made"));

        symlink(&precious, path("link")).unwrap();
        assert!(refusal(&path("link")).contains("no folder"));
        fs::write(path("file"), "").unwrap();
        assert!(refusal(&path("file")).contains("no folder"));

        // A link in the place of the lock would be followed.
        claim(&path("folder")).unwrap();
        symlink(precious.join("text"), path("folder").join(LOCK)).unwrap();
        assert!(refusal(&path("folder")).contains("with more than files"));
        assert_eq!(fs::read(precious.join("text")).unwrap(), b"precious");
    }
}
