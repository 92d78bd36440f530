//! Files of settings that the service or a command replaces.

use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use papir_core::{FileLock, Formats};
use papir_store::open_regular;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

/// Replaces a file atomically. A new file is readable by its owner only; an existing one keeps its
/// owner, group and mode. The lock of [`lock`] excludes other writers.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let partial = beside(path, "partial");
    // A killed process may have left one.
    let _ = fs::remove_file(&partial);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&partial)?;
    file.write_all(text.as_bytes())?;

    // Before the rename: a crash must leave the old file or the whole new one, and a service
    // must be able to read it at any time.
    keep_access(path, &partial)?;
    file.sync_all()?;
    fs::rename(&partial, path)
}

/// Reads the text of a file with secrets; `None` if it does not exist. A file that all users of the
/// machine may use, or of more than `max_bytes`, is refused. The error is a reason for messages.
pub(crate) fn read_secret(
    path: &Path,
    max_bytes: u64,
) -> Result<Option<Zeroizing<String>>, String> {
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let found = file.metadata().map_err(|error| error.to_string())?;
    if is_open_to_all(&found) {
        let reason = "every user of this machine may use it: expected mode 0600 (`chmod 600 FILE`)";
        return Err(reason.to_owned());
    }

    // Allocated in full: growing would leave copies of the secrets in memory. One byte more than
    // allowed tells a file that is too long from one that just fits.
    let mut text = Zeroizing::new(String::with_capacity(max_bytes as usize + 1));
    file.take(max_bytes + 1)
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    if text.len() as u64 > max_bytes {
        return Err(format!("longer than {max_bytes} bytes"));
    }
    Ok(Some(text))
}

/// Returns whether others than the owner and the group may read or change a file. A group may: the
/// volumes of some clusters give every file to a group.
#[cfg(unix)]
fn is_open_to_all(found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    found.mode() & 0o007 != 0
}

#[cfg(not(unix))]
fn is_open_to_all(_: &Metadata) -> bool {
    false
}

/// The only field that every format of a file has.
#[derive(Deserialize)]
pub(crate) struct FormatNumber {
    pub(crate) format: u32,
}

/// Parses a TOML document of one of these formats. The error is a reason for messages.
pub(crate) fn parse_document<T: DeserializeOwned>(
    text: &str,
    formats: &Formats,
) -> Result<T, String> {
    // Checked before the other fields are parsed: another format may have other fields.
    let FormatNumber { format } = from_toml(text)?;
    formats.check(format).map_err(|error| error.to_string())?;

    from_toml(text)
}

/// Appends to a text, which does not fail.
pub(crate) fn push(text: &mut String, part: fmt::Arguments<'_>) {
    let _ = fmt::Write::write_fmt(text, part);
}

/// Parses TOML. The error names the line.
pub(crate) fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let before = error
            .span()
            .map_or("", |span| text.get(..span.start).unwrap_or_default());
        let line = before.matches('\n').count() + 1;
        format!("line {line}: {}", error.message())
    })
}

/// Locks the directory of `path`, so that concurrent writers do not overwrite each other. `None`
/// on systems that cannot lock directories.
pub(crate) fn lock(path: &Path) -> io::Result<Option<FileLock>> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));

    if !cfg!(unix) {
        return Ok(None);
    }
    FileLock::wait(File::open(folder)?).map(Some)
}

/// The file that a path names after links are followed; the path itself if nothing is there.
pub(crate) fn resolved(path: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        // Fails for a link to a file that is missing.
        Ok(_) => fs::canonicalize(path),
        Err(_) => Ok(path.to_owned()),
    }
}

/// Gives `new` the owner, group and mode of `old`, if it exists. Otherwise a service that reads the
/// file through its group would lose access when a token is revoked.
#[cfg(unix)]
fn keep_access(old: &Path, new: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, chown};

    let Ok(found) = fs::metadata(old) else {
        return Ok(());
    };
    let own = fs::metadata(new)?;

    if (own.uid(), own.gid()) != (found.uid(), found.gid()) {
        chown(new, Some(found.uid()), Some(found.gid()))?;
    }
    fs::set_permissions(new, found.permissions())
}

#[cfg(not(unix))]
fn keep_access(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}

/// A hidden path in the same directory.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{suffix}"))
}
