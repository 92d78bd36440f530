//! Folders for Unix sockets.

use tempfile::TempDir;

/// Longest path of a folder for sockets. Systems allow 104 bytes and more for a socket, with its
/// name.
const LONGEST_FOLDER: usize = 64;

/// A folder for sockets with short names: in the temporary directory, or in /tmp if the path there
/// is too long for a socket.
pub fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    if folder.path().as_os_str().len() <= LONGEST_FOLDER {
        folder
    } else {
        TempDir::new_in("/tmp").unwrap()
    }
}
