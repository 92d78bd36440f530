//! Unix sockets.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixStream as Probe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::net::{UnixListener, UnixSocket, UnixStream};

use super::address::BACKLOG;

/// Mode of the socket: only its owner may connect.
const MODE: u32 = 0o600;

/// A bound socket. Its file is removed when it is dropped.
pub(crate) struct Socket {
    listener: UnixListener,
    path: PathBuf,
    file: FileId,
}

/// Identity of a file. Another file at the same path has another one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// The file at a path, which may be a link.
    fn of(path: &Path) -> io::Result<Self> {
        let found = fs::symlink_metadata(path)?;
        Ok(Self {
            device: found.dev(),
            inode: found.ino(),
        })
    }
}

impl Socket {
    /// Binds `path`. Replaces a socket file without a listener, and fails if any other file exists.
    ///
    /// The socket is bound under a temporary name, restricted to its owner, and then renamed, so
    /// that other users cannot connect at any point.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        check_length(path)?;
        check_free(path)?;
        let hidden = hidden_beside(path);

        let listener = listen(&hidden)?;
        let placed = fs::set_permissions(&hidden, Permissions::from_mode(MODE))
            .and_then(|()| FileId::of(&hidden))
            .and_then(|file| fs::rename(&hidden, path).map(|()| file));
        let file = match placed {
            Ok(file) => file,
            Err(error) => {
                // The first error is the one to report.
                let _ = fs::remove_file(&hidden);
                return Err(error);
            }
        };

        Ok(Self {
            listener,
            path: path.to_owned(),
            file,
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
        // Another service may have taken the path since: its socket stays.
        if FileId::of(&self.path).is_ok_and(|found| found == self.file) {
            // Its directory may be no longer writable, which cannot be fixed here.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A path beside `path` that no other socket of this machine has. Its name is short, since the
/// system limits the length of the whole.
fn hidden_beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);

    let process = std::process::id();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".papir-{process:x}-{count:x}"))
}

/// Checks that clients can connect to a path: systems limit its length.
fn check_length(path: &Path) -> io::Result<()> {
    let Err(error) = SocketAddr::from_pathname(path) else {
        return Ok(());
    };
    let found = path.as_os_str().len();
    let reason = format!("the path of a Unix socket has {found} bytes: {error}");
    Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
}

/// Listens at `hidden`, which may be a little too long for a socket.
fn listen(hidden: &Path) -> io::Result<UnixListener> {
    let socket = UnixSocket::new_stream()?;
    if SocketAddr::from_pathname(hidden).is_ok() {
        socket.bind(hidden)?;
        return socket.listen(BACKLOG);
    }

    // Through a descriptor of its folder, which has a short path on Linux.
    let folder = match hidden.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = File::open(folder)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    socket.bind(short.join(hidden.file_name().unwrap_or_default()))?;
    socket.listen(BACKLOG)
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

        let long = folder.path().join("s".repeat(200));
        assert_eq!(kind(&long), Err(io::ErrorKind::InvalidInput));

        fs::write(&path, "precious").unwrap();
        assert_eq!(kind(&path), Err(io::ErrorKind::AlreadyExists));
        assert_eq!(fs::read(&path).unwrap(), b"precious");
    }

    #[tokio::test]
    async fn a_socket_of_another_service_at_the_path_stays() {
        let folder = papir_testkit::sockets::folder();
        let path = folder.path().join("papir.sock");

        let first = Socket::bind(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let second = Socket::bind(&path).unwrap();
        drop(first);
        assert!(Probe::connect(&path).is_ok(), "the successor's socket");

        drop(second);
        assert!(!path.exists());
    }

    /// The longest path of a socket that Linux allows.
    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn a_path_of_107_bytes_is_bound() {
        let folder = papir_testkit::sockets::folder();
        let left = 107 - folder.path().as_os_str().len() - 1;
        for name in ["s".repeat(left), format!("{}/s", "f".repeat(left - 2))] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            assert_eq!(path.as_os_str().len(), 107);

            let socket = Socket::bind(&path).unwrap();
            assert!(Probe::connect(&path).is_ok());
            drop(socket);
            let left = fs::read_dir(path.parent().unwrap()).unwrap();
            assert_eq!(left.filter(is_socket).count(), 0);
        }
    }

    #[cfg(target_os = "linux")]
    fn is_socket(file: &io::Result<fs::DirEntry>) -> bool {
        file.as_ref().unwrap().file_type().unwrap().is_socket()
    }
}
