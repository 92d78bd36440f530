//! Unfinished downloads of snapshots, resumed after an interruption.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use blake3::{Hash, Hasher};
use papir_core::{FileLock, Progress};

use super::manifest::Manifest;
use crate::error::{Error, Result};
use crate::file::{HEADER_BYTES, check_disk, open_regular, open_regular_with, stated_length};
use crate::publish::{check_special, keep_access, split, sync_directory};

/// Suffix of the name of an unfinished download.
const UNFINISHED: &str = ".papir-download";

/// A download in progress: a file in the directory of its target. Its name contains the snapshot's
/// BLAKE3, so that a later pull finds it again and never continues the download of another
/// snapshot.
pub(super) struct Partial {
    directory: PathBuf,
    path: PathBuf,
    target: PathBuf,
    /// The file whose permissions the target gets; `None` for the system's default.
    model: Option<PathBuf>,
    file: File,
    /// The locked directory. Other downloads into it wait for the lock.
    _lock: Option<FileLock>,
}

impl Partial {
    /// Opens or creates the download of a snapshot to `target` and removes unfinished downloads of
    /// other snapshots to it. Waits for other downloads into its directory. Once finished, the file
    /// has the permissions of `target` or, if there is none, of the file `similar`.
    pub(super) fn open(target: &Path, similar: &Path, manifest: &Manifest) -> Result<Self> {
        // On a file system without locks, two downloads of one snapshot may run at once. That is
        // safe: both write the same bytes to the same offsets, and both check the whole file before
        // they rename it.
        check_special(target)?;
        let (directory, name) = split(target)?;
        let lock = File::open(&directory).map_err(Error::io("opening", &directory))?;
        let lock = FileLock::wait(lock).ok();

        let prefix = format!(".{}.", name.to_string_lossy());
        let path = directory.join(format!("{prefix}{}{UNFINISHED}", manifest.blake3.to_hex()));
        remove_others(&directory, &prefix, &path);

        let model = [target, similar]
            .into_iter()
            .find(|model| model.exists())
            .map(Path::to_owned);
        let opened = open_or_create(&path, model.is_some());
        let file = opened.map_err(Error::io("creating", &path))?;

        // Not made longer: the file grows with the parts, so that only what was fetched is hashed.
        let found = file.metadata().map_err(Error::io("reading", &path))?;
        if found.len() > manifest.bytes {
            file.set_len(manifest.bytes)
                .map_err(Error::io("writing", &path))?;
        }

        Ok(Self {
            target: directory.join(&name),
            directory,
            path,
            model,
            file,
            _lock: lock,
        })
    }

    /// Refuses a snapshot that does not fit on the disk, beside what is fetched already.
    pub(super) fn check_disk(&self, manifest: &Manifest) -> Result<()> {
        let found = self.metadata()?;
        let missing = manifest.bytes.saturating_sub(allocated(&found));
        check_disk(&self.target, &self.directory, missing)
    }

    /// Length of the file so far in bytes.
    pub(super) fn length(&self) -> Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn metadata(&self) -> Result<fs::Metadata> {
        self.file
            .metadata()
            .map_err(Error::io("reading", &self.path))
    }

    /// Reads the parts that an earlier download has written. Returns for each part whether it
    /// matches the manifest.
    pub(super) fn present(
        &mut self,
        manifest: &Manifest,
        progress: &dyn Progress,
    ) -> Result<Vec<bool>> {
        let hashes = hashes(&mut self.file, &self.path, manifest.part_bytes, progress)?;
        let mut present = vec![false; manifest.parts.len()];
        for (index, found) in hashes.parts.iter().enumerate().take(present.len()) {
            present[index] = *found == manifest.parts[index];
        }
        Ok(present)
    }

    /// Writes a part at offset `start`.
    pub(super) fn write(&mut self, start: u64, bytes: &[u8]) -> Result<()> {
        let written = self
            .file
            .seek(SeekFrom::Start(start))
            .and_then(|_| self.file.write_all(bytes));
        written.map_err(Error::io("writing", &self.path))
    }

    /// The length of the snapshot in bytes that its first part states.
    pub(super) fn stated_length(&mut self) -> Result<Option<u64>> {
        let mut begin = Vec::new();
        let read = self.file.seek(SeekFrom::Start(0)).and_then(|_| {
            (&mut self.file)
                .take(HEADER_BYTES as u64)
                .read_to_end(&mut begin)
        });
        read.map_err(Error::io("reading", &self.path))?;
        Ok(stated_length(&begin))
    }

    /// Reads the whole file and returns its BLAKE3.
    pub(super) fn hash(&mut self, manifest: &Manifest, progress: &dyn Progress) -> Result<Hash> {
        let hashes = hashes(&mut self.file, &self.path, manifest.part_bytes, progress)?;
        Ok(hashes.whole)
    }

    /// The file of the download.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the file durable and renames it to its target.
    pub(super) fn finish(self) -> Result<()> {
        if let Some(model) = &self.model {
            keep_access(model, &self.path)?;
        }

        // Durable before it has its name: after a crash the target is the old file or the new one.
        self.file
            .sync_all()
            .map_err(Error::io("writing", &self.path))?;
        fs::rename(&self.path, &self.target).map_err(Error::io("naming", &self.target))?;
        sync_directory(&self.directory)
    }

    /// Removes the file.
    pub(super) fn discard(self) {
        // A failure is harmless: the next download checks every part again.
        let _ = fs::remove_file(&self.path);
    }
}

/// Bytes of disk that a file takes already.
fn allocated(found: &fs::Metadata) -> u64 {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        found.blocks().saturating_mul(512)
    }
    #[cfg(not(unix))]
    {
        found.len()
    }
}

/// Opens or creates the file of a download.
#[cfg_attr(not(unix), allow(unused_variables))]
fn open_or_create(path: &Path, has_model: bool) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    if has_model {
        // Others could read it before it has the permissions of its model.
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }

    match open_regular_with(&mut options, path) {
        // Left by another user.
        Err(error)
            if error.kind() == ErrorKind::PermissionDenied && fs::remove_file(path).is_ok() =>
        {
            open_regular_with(&mut options, path)
        }
        opened => opened,
    }
}

/// The hashes of a file.
pub(super) struct Hashes {
    /// BLAKE3 of every part.
    pub(super) parts: Vec<Hash>,
    /// BLAKE3 of the whole file.
    pub(super) whole: Hash,
}

/// Hashes a file and its parts of `part_bytes` bytes.
pub(super) fn hashes(
    file: &mut File,
    path: &Path,
    part_bytes: u64,
    progress: &dyn Progress,
) -> Result<Hashes> {
    file.seek(SeekFrom::Start(0))
        .map_err(Error::io("reading", path))?;
    let mut parts = Vec::new();
    let mut whole = Hasher::new();
    let mut part = Vec::new();
    loop {
        part.clear();
        (&mut *file)
            .take(part_bytes)
            .read_to_end(&mut part)
            .map_err(Error::io("reading", path))?;
        if part.is_empty() {
            let whole = whole.finalize();
            return Ok(Hashes { parts, whole });
        }

        parts.push(blake3::hash(&part));
        whole.update(&part);
        progress.advance(part.len() as u64);
    }
}

/// Opens the file at `path` for reading; `None` if it does not exist.
pub(super) fn open_existing(path: &Path) -> Result<Option<File>> {
    match open_regular(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("opening", path)(error)),
    }
}

/// Removes unfinished downloads of other snapshots. Failures are ignored.
fn remove_others(directory: &Path, prefix: &str, kept: &Path) {
    for file in fs::read_dir(directory).into_iter().flatten().flatten() {
        if is_download(&file.file_name(), prefix) && file.path() != kept {
            let _ = fs::remove_file(file.path());
        }
    }
}

/// Returns whether a file with this name is an unfinished download: prefix, BLAKE3, suffix.
fn is_download(name: &OsStr, prefix: &str) -> bool {
    let name = name.to_string_lossy();
    let hash = name
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_suffix(UNFINISHED));
    hash.is_some_and(|hash| Hash::from_hex(hash).is_ok())
}
