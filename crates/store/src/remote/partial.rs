//! A file that is put together from parts: it keeps what it has when the pull is interrupted.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use blake3::{Hash, Hasher};
use papir_core::Progress;

use super::manifest::Manifest;
use crate::publish::{split, sync_directory};
use crate::{Error, Result};

/// What the name of an unfinished download ends with.
const UNFINISHED: &str = ".papir-download";

/// A download under way, beside the file that it becomes. Its name holds the snapshot's BLAKE3, so
/// that an interrupted one is found again, and never goes on as another snapshot's.
pub(super) struct Partial {
    directory: PathBuf,
    path: PathBuf,
    target: PathBuf,
    file: File,
    /// Held while the download lives: others to this directory wait.
    _turn: File,
}

impl Partial {
    /// Opens or begins the download of a snapshot that becomes `target`, and removes those of other
    /// snapshots for the same file. Waits for other downloads into its directory.
    ///
    /// # Errors
    /// [`papir_core::Error::Io`].
    pub(super) fn open(target: &Path, manifest: &Manifest) -> Result<Self> {
        let (directory, name) = split(target)?;
        let turn = File::open(&directory).map_err(Error::io("opening", &directory))?;
        // Where the file system has no locks, two downloads of one file may meet: both write the
        // same bytes to the same places, and each checks the whole before it names it.
        let _ = turn.lock();
        let prefix = format!(".{}.", name.to_string_lossy());
        let path = directory.join(format!("{prefix}{}{UNFINISHED}", manifest.blake3.to_hex()));
        remove_others(&directory, &prefix, &path);
        let opened = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = opened.map_err(Error::io("creating", &path))?;
        file.set_len(manifest.bytes).map_err(Error::io("writing", &path))?;
        Ok(Self { directory, path, target: target.to_owned(), file, _turn: turn })
    }

    /// Reads every part and tells of each whether it is the one that it must be.
    ///
    /// # Errors
    /// [`papir_core::Error::Io`].
    pub(super) fn present(&mut self, manifest: &Manifest, progress: &dyn Progress) -> Result<Vec<bool>> {
        let (hashes, _) = hashes(&mut self.file, &self.path, manifest.part_bytes, progress)?;
        Ok(hashes.iter().zip(&manifest.parts).map(|(found, expected)| found == expected).collect())
    }

    /// Writes a part to its place.
    ///
    /// # Errors
    /// [`papir_core::Error::Io`].
    pub(super) fn write(&mut self, start: u64, bytes: &[u8]) -> Result<()> {
        let written = self.file.seek(SeekFrom::Start(start)).and_then(|_| self.file.write_all(bytes));
        written.map_err(Error::io("writing", &self.path))
    }

    /// BLAKE3 of the whole as it lies in the file.
    ///
    /// # Errors
    /// [`papir_core::Error::Io`].
    pub(super) fn whole(&mut self, manifest: &Manifest, progress: &dyn Progress) -> Result<Hash> {
        Ok(hashes(&mut self.file, &self.path, manifest.part_bytes, progress)?.1)
    }

    /// Makes the file durable and gives it its name.
    ///
    /// # Errors
    /// [`papir_core::Error::Io`].
    pub(super) fn finish(self) -> Result<()> {
        self.file.sync_all().map_err(Error::io("writing", &self.path))?;
        fs::rename(&self.path, &self.target).map_err(Error::io("naming", &self.target))?;
        sync_directory(&self.directory)
    }

    /// Removes the file: what it holds is of no use.
    pub(super) fn discard(self) {
        // Best effort: the next download checks every part again.
        let _ = fs::remove_file(&self.path);
    }
}

/// BLAKE3 of every part of `part_bytes` bytes, and of the whole.
pub(super) fn hashes(
    file: &mut File,
    path: &Path,
    part_bytes: u64,
    progress: &dyn Progress,
) -> Result<(Vec<Hash>, Hash)> {
    let failed = || Error::io("reading", path);
    file.seek(SeekFrom::Start(0)).map_err(failed())?;
    let (mut parts, mut whole, mut part) = (Vec::new(), Hasher::new(), Vec::new());
    loop {
        part.clear();
        (&mut *file).take(part_bytes).read_to_end(&mut part).map_err(failed())?;
        if part.is_empty() {
            return Ok((parts, whole.finalize()));
        }
        parts.push(blake3::hash(&part));
        whole.update(&part);
        progress.advance(part.len() as u64);
    }
}

/// The file at `path` opened for reading, where there is one.
pub(super) fn open_if_there(path: &Path) -> Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("opening", path)(error)),
    }
}

/// Removes unfinished downloads of other snapshots. Best effort: nothing depends on it.
fn remove_others(directory: &Path, prefix: &str, kept: &Path) {
    let ours = |name: &OsStr| {
        let name = name.to_string_lossy();
        let middle = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(UNFINISHED));
        middle.is_some_and(|middle| Hash::from_hex(middle).is_ok())
    };
    for file in fs::read_dir(directory).into_iter().flatten().flatten() {
        if ours(&file.file_name()) && file.path() != kept {
            let _ = fs::remove_file(file.path());
        }
    }
}
