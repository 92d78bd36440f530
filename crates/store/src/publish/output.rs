//! Checks of output files, and the files that paths name.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::file::{has_magic, is_standard_input, open_regular};

/// Refuses an output file that is one of the `inputs`, that exists and is not a regular file, or
/// that papir did not write. `replace` allows the last one. An empty file may be replaced. The path
/// `-` among the inputs is standard input.
///
/// # Errors
/// [`Error::Options`], and [`papir_core::Error::Io`] for a file that cannot be read.
pub fn check_output(out: &Path, inputs: &[&Path], replace: bool) -> Result<()> {
    // A link stands for its file: the link stays, and what is replaced is the file.
    let file = resolved(out)?;
    let Some(found) = existing(&file)? else {
        // Two names of one file that does not exist yet.
        return match inputs.iter().find(|input| same_file(out, input)) {
            Some(input) => Err(is_input(out, input)),
            None => Ok(()),
        };
    };

    check_regular(out, &found)?;
    if let Some(input) = inputs.iter().find(|input| same_file(out, input)) {
        return Err(is_input(out, input));
    }
    if replace || found.len() == 0 || is_own(&file)? {
        return Ok(());
    }

    Err(Error::options(
        format!(
            "the output {} exists, and papir did not write it",
            out.display()
        ),
        "another name, or the choice to replace it (`--force`, in Python `force=True`)",
    ))
}

/// Refuses an output that exists and is not a regular file: a folder, a device, a pipe.
pub(crate) fn check_special(out: &Path) -> Result<()> {
    match existing(&resolved(out)?)? {
        Some(found) => check_regular(out, &found),
        None => Ok(()),
    }
}

fn check_regular(out: &Path, found: &Metadata) -> Result<()> {
    if found.is_file() {
        return Ok(());
    }

    let kind = if found.is_dir() {
        "a folder"
    } else {
        "a device, a pipe or a socket"
    };
    Err(Error::options(
        format!("the output {}, {kind}", out.display()),
        "a regular file, or a new name",
    ))
}

/// The metadata of a file; `None` if it does not exist.
fn existing(file: &Path) -> Result<Option<Metadata>> {
    match fs::metadata(file) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("reading", file)(error)),
    }
}

/// Returns whether a file begins like the files that papir writes.
fn is_own(file: &Path) -> Result<bool> {
    let mut begin = Vec::new();
    open_regular(file)
        .and_then(|file| file.take(64).read_to_end(&mut begin))
        .map_err(Error::io("reading", file))?;
    Ok(has_magic(&begin))
}

fn is_input(out: &Path, input: &Path) -> Error {
    let found = if out == input {
        format!("the output {}, which is an input, too", out.display())
    } else {
        format!(
            "the output {}, the same file as the input {}",
            out.display(),
            input.display()
        )
    };
    Error::options(found, "another file")
}

/// Returns whether two paths name one file, which need not exist. The path `-` for the second is
/// standard input.
pub(crate) fn same_file(a: &Path, b: &Path) -> bool {
    // Standard input may be the output file, redirected: it would be emptied before it is read.
    let is_stdin = is_standard_input(b);
    if is_stdin && !cfg!(unix) {
        return false;
    }

    let b = if is_stdin { Path::new("/dev/stdin") } else { b };
    match (identity(a), identity(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => place(a).is_some_and(|a| place(b) == Some(a)),
        _ => false,
    }
}

/// The device and the number of a file that exists.
#[cfg(unix)]
fn identity(file: &Path) -> Option<[u64; 2]> {
    use std::os::unix::fs::MetadataExt;

    let found = fs::metadata(file).ok()?;
    Some([found.dev(), found.ino()])
}

/// The path without links of a file that exists.
#[cfg(not(unix))]
fn identity(file: &Path) -> Option<PathBuf> {
    fs::canonicalize(file).ok()
}

/// The folder of a file, without links, and its name.
fn place(file: &Path) -> Option<(PathBuf, OsString)> {
    let (folder, name) = split(file).ok()?;
    Some((fs::canonicalize(folder).ok()?, name))
}

/// The file that a path names: links are followed. Everything that belongs to a database is beside
/// that file, under its name, and a new version replaces the file and not the link.
///
/// # Errors
/// [`papir_core::Error::Io`] for a link to a missing file.
pub(crate) fn resolved(path: &Path) -> Result<PathBuf> {
    // Only the last part: a folder may be reached by links as anybody likes.
    let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    if is_link {
        fs::canonicalize(path).map_err(Error::io("following the link", path))
    } else {
        Ok(path.to_owned())
    }
}

/// Splits the path of a file to be written into directory and name. A link is followed.
pub(crate) fn split(path: &Path) -> Result<(PathBuf, OsString)> {
    let file = resolved(path)?;
    let name = file.file_name().ok_or_else(|| {
        Error::options(
            format!("the output `{}`", path.display()),
            "a path that ends with a file name",
        )
    })?;

    let directory = file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    Ok((
        directory.unwrap_or(Path::new(".")).to_owned(),
        name.to_owned(),
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn refusal(out: &Path, inputs: &[&Path], replace: bool) -> String {
        check_output(out, inputs, replace).unwrap_err().to_string()
    }

    #[test]
    fn files_of_others_and_inputs_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let source = path("a.csv");
        fs::write(&source, "k,v\n").unwrap();
        fs::write(path("empty"), "").unwrap();
        fs::write(path("own"), b"PIRSNAPS and more").unwrap();

        for out in ["new", "empty", "own"] {
            check_output(&path(out), &[&source], false).unwrap();
        }
        assert!(refusal(&source, &[], false).contains("papir did not write it"));
        check_output(&source, &[], true).unwrap();
        assert!(refusal(&source, &[&source], true).contains("which is an input, too"));

        // The same file that does not exist yet, by two names.
        fs::create_dir(path("deep")).unwrap();
        let roundabout = path("deep/../new");
        assert!(refusal(&path("new"), &[&roundabout], true).contains("the same file"));
        assert!(refusal(folder.path(), &[], true).contains("a folder"));
    }

    #[cfg(unix)]
    #[test]
    fn links_stand_for_their_files_and_special_files_are_refused() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let source = path("a.csv");
        fs::write(&source, "k,v\n").unwrap();
        symlink("a.csv", path("link")).unwrap();
        fs::hard_link(&source, path("hard")).unwrap();
        symlink("nothing", path("dangling")).unwrap();
        symlink(folder.path(), path("folder")).unwrap();

        for other in ["link", "hard", "folder/a.csv"] {
            assert!(refusal(&path(other), &[&source], true).contains("the same file"));
            assert!(refusal(&source, &[&path(other)], true).contains("the same file"));
        }
        assert!(refusal(&path("dangling"), &[], true).contains("following the link"));

        let socket = std::os::unix::net::UnixListener::bind(path("s")).unwrap();
        assert!(refusal(&path("s"), &[], true).contains("a pipe or a socket"));
        drop(socket);

        let (directory, name) = split(&path("link")).unwrap();
        assert_eq!(directory, fs::canonicalize(folder.path()).unwrap());
        assert_eq!(name, "a.csv");
    }
}
