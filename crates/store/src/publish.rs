//! A finished file appears under its name complete, or not at all.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::writer::SnapshotWriter;
use crate::{Error, Result};

/// What the name of an unfinished file ends with.
const PARTIAL: &str = ".papir-partial";

/// Writes a snapshot to a temporary file beside `path`, makes it durable, and renames it.
/// `nonce` tells this build's temporary file from others'. Gives the snapshot's length in bytes.
///
/// # Errors
/// Those of `write`, or of the file system, a full disk included; then the temporary file is
/// removed and whatever stood under `path` stays.
pub(crate) fn publish(
    path: &Path,
    nonce: u64,
    write: impl FnOnce(&mut SnapshotWriter<File>) -> Result<()>,
) -> Result<u64> {
    let (directory, name) = split(path)?;
    remove_stale(&directory, &name);
    let partial = Partial::create(directory.join(partial_name(&name, nonce)))?;
    let file = partial.file.try_clone().map_err(Error::io("writing", path))?;
    let mut writer = SnapshotWriter::new(file, path.display().to_string())?;
    write(&mut writer)?;
    let (file, length) = writer.finish()?;
    file.sync_all().map_err(Error::io("writing", path))?;
    fs::rename(&partial.path, path).map_err(Error::io("naming", path))?;
    sync_directory(&directory)?;
    Ok(length)
}

/// The directory and the name of a file to be.
fn split(path: &Path) -> Result<(PathBuf, OsString)> {
    let name = path.file_name().ok_or_else(|| {
        Error::options(format!("the output `{}`", path.display()), "a path that ends with a file name")
    })?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    Ok((directory.unwrap_or(Path::new(".")).to_owned(), name.to_owned()))
}

fn partial_prefix(name: &OsString) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    prefix
}

fn partial_name(name: &OsString, nonce: u64) -> OsString {
    let mut partial = partial_prefix(name);
    partial.push(format!("{nonce:016x}{PARTIAL}"));
    partial
}

/// An unfinished file: locked while its build lives, removed when that ends without renaming it.
struct Partial {
    path: PathBuf,
    file: File,
}

impl Partial {
    fn create(path: PathBuf) -> Result<Self> {
        let file = File::create_new(&path).map_err(Error::io("creating", &path))?;
        // Where the file system has no locks, a second build of the same name may remove this
        // file; then renaming it fails, and nothing else is lost.
        let _ = file.try_lock();
        Ok(Self { path, file })
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After the rename there is nothing here any more.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what killed builds of this name left behind. Best effort: nothing depends on it.
fn remove_stale(directory: &Path, name: &OsString) {
    let prefix = partial_prefix(name);
    let Ok(files) = fs::read_dir(directory) else {
        return;
    };
    for file in files.flatten() {
        let found = file.file_name();
        let found = found.as_encoded_bytes();
        let ours = found.starts_with(prefix.as_encoded_bytes())
            && found.len() == prefix.len() + 16 + PARTIAL.len()
            && found.ends_with(PARTIAL.as_bytes());
        if ours && abandoned(&file.path()) {
            let _ = fs::remove_file(file.path());
        }
    }
}

/// Whether no living build holds the lock.
fn abandoned(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| !matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Makes a rename durable. Only Unix has directories that can be synced.
fn sync_directory(directory: &Path) -> Result<()> {
    if cfg!(unix) {
        let opened = File::open(directory).map_err(Error::io("opening", directory))?;
        opened.sync_all().map_err(Error::io("syncing", directory))?;
    }
    Ok(())
}
