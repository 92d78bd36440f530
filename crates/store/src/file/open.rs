//! Opens regular files without waiting.
//!
//! Opening a pipe waits for its other end, and a device may do anything. Whoever may write beside a
//! file could stop a service for good by a pipe of its name.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// Opens a regular file for reading.
///
/// # Errors
/// [`ErrorKind::IsADirectory`], and [`ErrorKind::InvalidInput`] for a pipe, a device or a socket.
pub fn open_regular(path: &Path) -> Result<File> {
    open_regular_with(File::options().read(true), path)
}

/// Opens a regular file by `options`.
///
/// # Errors
/// Same as [`open_regular`].
pub(crate) fn open_regular_with(options: &mut OpenOptions, path: &Path) -> Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;

        // For a regular file the flag has no effect.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }

    let file = match options.open(path) {
        // A pipe that nobody reads, or a socket.
        Err(error) if is_special(path) => return Err(special(Some(error))),
        opened => opened?,
    };
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        Err(ErrorKind::IsADirectory.into())
    } else if kind.is_file() {
        Ok(file)
    } else {
        Err(special(None))
    }
}

/// Returns whether a path is there, and is neither a file nor a folder.
pub(crate) fn is_special(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| !found.is_file() && !found.is_dir())
}

fn special(error: Option<Error>) -> Error {
    let mut reason = "a pipe, a device or a socket: expected a regular file".to_owned();
    if let Some(error) = error {
        reason += &format!(" ({error})");
    }
    Error::new(ErrorKind::InvalidInput, reason)
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn special_files_are_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let made = Command::new("mkfifo").arg(path("fifo")).status();
        assert!(made.unwrap().success());
        std::os::unix::fs::symlink("fifo", path("link")).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(path("s")).unwrap();
        std::fs::write(path("file"), "text").unwrap();

        for name in ["fifo", "link", "s"] {
            for options in [File::options().read(true), File::options().write(true)] {
                let error = open_regular_with(options, &path(name)).unwrap_err();
                assert!(error.to_string().starts_with("a pipe, a device"), "{error}");
            }
        }
        drop(socket);

        let directory = open_regular(folder.path()).unwrap_err();
        assert_eq!(directory.kind(), ErrorKind::IsADirectory);
        assert_eq!(
            open_regular(&path("none")).unwrap_err().kind(),
            ErrorKind::NotFound
        );
        assert_eq!(
            open_regular(&path("file"))
                .unwrap()
                .metadata()
                .unwrap()
                .len(),
            4
        );
    }
}
