//! Reads folders of files: keys are paths, values are contents.

use std::ffi::OsString;
use std::fs::{DirEntry, FileType, canonicalize};
use std::io::Read;
use std::path::{Path, PathBuf};

use papir_core::Progress;

use super::request::RowsRequest;
use super::row::{Fault, OnRow, Position, SourceRow};
use crate::error::{Error, Result};
use crate::file::open_regular;
use crate::publish::{belongs_to, split};

/// A file of the folder.
struct FolderFile {
    /// The path below the folder, separated by `/`.
    key: Vec<u8>,
    path: PathBuf,
    kind: FileType,
}

/// The content of a file, or its fault.
enum Content {
    Whole(Vec<u8>),
    Bad(Fault),
}

/// The files of a database that is built in the folder of its source.
struct OutputFiles {
    directory: PathBuf,
    name: OsString,
}

impl OutputFiles {
    /// The output of a build from `folder`; `None` if it is elsewhere.
    fn within(folder: &Path, out: Option<&Path>) -> Result<Option<Self>> {
        let Some(out) = out else { return Ok(None) };
        let (directory, name) = split(out)?;

        // Without links: the output may be named by another path than the folder.
        let Ok(root) = canonicalize(folder) else {
            return Ok(None);
        };
        let Ok(directory) = canonicalize(directory) else {
            return Ok(None);
        };
        let below = directory.strip_prefix(&root).ok();
        Ok(below.map(|below| Self {
            directory: folder.join(below),
            name,
        }))
    }

    /// Returns whether a file or folder is the output, or is written beside it.
    fn has(&self, entry: &DirEntry) -> bool {
        entry.path().parent() == Some(self.directory.as_path())
            && belongs_to(&self.name, &entry.file_name())
    }
}

/// Reads all files in the order of their keys. Symbolic links are neither read nor followed. The
/// output of the build is left out. Returns the bytes read.
pub(super) fn rows(
    request: &RowsRequest<'_>,
    progress: &dyn Progress,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let folder = request.path;
    let longest = request.longest;
    let output = OutputFiles::within(folder, request.out)?;

    // Sorted, so that the same files give the same rows on every file system.
    let mut files = Vec::new();
    collect(folder, &[], output.as_ref(), &mut files)?;
    files.sort_unstable_by(|a, b| a.key.cmp(&b.key));

    progress.stage("reading", files.len() as u64);
    let mut total = 0;
    for FolderFile { key, path, kind } in files {
        let row = match content(&path, kind, longest)? {
            Content::Whole(bytes) => {
                total += bytes.len() as u64;
                Ok(SourceRow {
                    key,
                    value: Some(bytes),
                })
            }
            Content::Bad(fault) => Err(fault),
        };

        let below = path.strip_prefix(folder).unwrap_or(&path);
        on_row(Position::File(below), row)?;
        progress.advance(1);
    }
    Ok(total)
}

/// Collects everything below a folder except folders, symbolic links and the output.
fn collect(
    folder: &Path,
    prefix: &[u8],
    output: Option<&OutputFiles>,
    files: &mut Vec<FolderFile>,
) -> Result<()> {
    let entries = std::fs::read_dir(folder).map_err(Error::io("reading", folder))?;
    for entry in entries {
        let entry = entry.map_err(|error| Error::io("reading", folder)(error))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(Error::io("reading", &path))?;
        let key = key(prefix, &entry);
        if output.is_some_and(|output| output.has(&entry)) {
            continue;
        }

        if kind.is_dir() {
            collect(&path, &key, output, files)?;
        } else if !kind.is_symlink() {
            files.push(FolderFile { key, path, kind });
        }
    }
    Ok(())
}

/// The path of an entry below the folder: `prefix` is the path of its directory.
fn key(prefix: &[u8], entry: &DirEntry) -> Vec<u8> {
    let name = entry.file_name();
    let separator: &[u8] = if prefix.is_empty() { b"" } else { b"/" };
    [prefix, separator, name.as_encoded_bytes()].concat()
}

/// Reads a file of at most `longest` bytes.
fn content(path: &Path, kind: FileType, longest: u64) -> Result<Content> {
    if !kind.is_file() {
        let reason = "neither a file nor a folder: expected a file".to_owned();
        return Ok(Content::Bad(Fault::Reason(reason)));
    }

    let file = open_regular(path).map_err(Error::io("opening", path))?;
    let length = file.metadata().map_err(Error::io("opening", path))?.len();

    // The length may be out of date by now: the file is read up to one byte more than allowed.
    let mut content = Vec::new();
    file.take(longest + 1)
        .read_to_end(&mut content)
        .map_err(Error::io("reading", path))?;
    if content.len() as u64 <= longest {
        return Ok(Content::Whole(content));
    }

    let found = length.max(longest + 1);
    let reason = format!("the file has {found} bytes: expected at most {longest}");
    Ok(Content::Bad(Fault::Reason(reason)))
}
