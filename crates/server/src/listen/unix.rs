//! Unix sockets.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream as Probe;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

/// Mode of the socket: only its owner may connect.
const MODE: u32 = 0o600;

/// A bound socket. Its file is removed when it is dropped.
pub(crate) struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Binds `path`. Replaces a socket file without a listener, and fails if any other file exists.
    ///
    /// The socket is bound under a temporary name, restricted to its owner, and then renamed, so
    /// that other users cannot connect at any point.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        check_free(path)?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}", std::process::id()));
        let hidden = path.with_file_name(name);

        let listener = UnixListener::bind(&hidden)?;
        let placed = fs::set_permissions(&hidden, Permissions::from_mode(MODE))
            .and_then(|()| fs::rename(&hidden, path));
        if let Err(error) = placed {
            // The first error is the one to report.
            let _ = fs::remove_file(&hidden);
            return Err(error);
        }

        Ok(Self {
            listener,
            path: path.to_owned(),
        })
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
        // The file may be gone or its directory no longer writable; neither can be fixed here.
        let _ = fs::remove_file(&self.path);
    }
}

/// Checks that a socket may be created at `path`.
fn check_free(path: &Path) -> io::Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "a file exists there that is not a socket",
        ));
    }

    // The file of a killed process refuses connections: nobody listens behind it.
    match Probe::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "another process is listening there",
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_a_socket_without_a_listener_is_replaced() {
        let folder = papir_testkit::sockets::folder();
        let path = folder.path().join("papir.sock");
        let kind = |path: &Path| Socket::bind(path).map(drop).map_err(|error| error.kind());

        let first = Socket::bind(&path).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(kind(&path), Err(io::ErrorKind::AddrInUse));
        drop(first);
        assert!(!path.exists());

        // The state that a killed process leaves.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        assert_eq!(kind(&path), Ok(()));

        fs::write(&path, "precious").unwrap();
        assert_eq!(kind(&path), Err(io::ErrorKind::AlreadyExists));
        assert_eq!(fs::read(&path).unwrap(), b"precious");
    }
}
