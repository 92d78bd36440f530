//! A Unix socket in the file system.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream as Probe;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

/// Who may speak to a socket: its owner. Others come through a directory or a group that the
/// operator opens to them afterwards.
const MODE: u32 = 0o600;

/// A bound socket; its file goes when it is dropped.
pub(crate) struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Binds `path`. A socket file that nobody listens on any more is replaced; anything else that
    /// stands there is left as it is.
    ///
    /// The file is bound under another name, closed to others, and only then renamed: there is no
    /// moment in which others could connect.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        check_free(path)?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}", std::process::id()));
        let hidden = path.with_file_name(name);
        let listener = UnixListener::bind(&hidden)?;
        let placed = fs::set_permissions(&hidden, Permissions::from_mode(MODE))
            .and_then(|()| fs::rename(&hidden, path));
        if let Err(error) = placed {
            // The first error is the one to tell.
            let _ = fs::remove_file(&hidden);
            return Err(error);
        }
        Ok(Self { listener, path: path.to_owned() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) async fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Already gone, or in a folder that is closed by now: nothing to do about it.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether a socket may be put at `path`.
fn check_free(path: &Path) -> io::Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file that is no socket stands there"));
    }
    match Probe::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "another process listens there")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_what_nobody_listens_on_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("papir.sock");
        let kind = |path: &Path| Socket::bind(path).map(drop).map_err(|error| error.kind());
        let first = Socket::bind(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(kind(&path), Err(io::ErrorKind::AddrInUse));
        drop(first);
        assert!(!path.exists());
        // As a process leaves it that was killed.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        assert_eq!(kind(&path), Ok(()));
        fs::write(&path, "precious").unwrap();
        assert_eq!(kind(&path), Err(io::ErrorKind::AlreadyExists));
        assert_eq!(fs::read(&path).unwrap(), b"precious");
    }
}
