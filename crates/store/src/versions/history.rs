//! Replaced versions of a snapshot, kept next to it.
//!
//! The version that an update replaces is kept as `FILE.VERSION`, a hard link to the file that was
//! served.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use papir_core::Version;

use crate::error::{Error, Result};
use crate::publish::{
    DELTA_SUFFIX, VersionFile, copy, delta_of, files_of_versions, kept_path, resolved,
};
use crate::snapshot::{Metadata, OpenOptions, Snapshot};

/// A version in a file.
#[derive(Clone, Debug)]
pub struct KeptVersion {
    /// The file.
    pub path: PathBuf,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its place in the log; `None` if the database is not signed.
    pub sequence: Option<u64>,
    /// Set for the file itself, not for those kept next to it.
    pub current: bool,
}

impl KeptVersion {
    /// The time at which it was built or updated, in the form of [`crate::timestamp`].
    pub fn time(&self) -> &str {
        self.metadata
            .updated
            .as_deref()
            .unwrap_or(&self.metadata.created)
    }
}

/// A version that another one has replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedVersion {
    /// Its file.
    pub path: PathBuf,
    /// The time at which it was replaced.
    pub since: SystemTime,
}

/// Returns whether `since` is no longer ago than `within`. A time in the future counts as now.
pub(crate) fn is_within(since: SystemTime, within: Duration) -> bool {
    SystemTime::now().duration_since(since).unwrap_or_default() < within
}

/// The versions kept next to a file that were replaced no longer ago than `within`, the newest
/// first. A version was replaced when the next one of those that are there was written.
///
/// # Errors
/// The errors of [`versions`].
pub fn replaced(file: &Path, within: Duration) -> Result<Vec<ReplacedVersion>> {
    if within.is_zero() {
        return Ok(Vec::new());
    }

    // The newest first: a version was replaced when the one before it in this list was written.
    let found = versions(file)?;
    let mut replaced = Vec::new();
    for pair in found.windows(2) {
        let since = written(&pair[0].path)?;
        if !is_within(since, within) {
            break;
        }
        replaced.push(ReplacedVersion {
            path: pair[1].path.clone(),
            since,
        });
    }
    Ok(replaced)
}

/// The time at which a file was last written.
fn written(path: &Path) -> Result<SystemTime> {
    let metadata = fs::metadata(path).map_err(Error::io("reading", path))?;
    metadata.modified().map_err(Error::io("reading", path))
}

/// Removes the files of all versions kept next to `file`, except `wanted`.
pub(crate) fn remove_others(file: &Path, wanted: Option<&Path>) -> Result<()> {
    for old in kept_files(file)? {
        if Some(old.path.as_path()) != wanted {
            fs::remove_file(&old.path).map_err(Error::io("removing", &old.path))?;
        }
    }
    Ok(())
}

/// Keeps the version at `file`, before it is replaced.
pub(crate) fn keep(file: &Path, version: Version) -> Result<()> {
    let kept = kept_path(file, &version.to_string())?;
    let file = &resolved(file)?;
    match fs::hard_link(file, &kept) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        // A file system without hard links. No two copies of a version are made at a time, so its
        // number can serve as the nonce.
        Err(_) => copy(file, &kept, u64::from_be_bytes(version.0)),
        Ok(()) => Ok(()),
    }
}

/// Removes all kept versions but the newest `most`.
pub(crate) fn prune(file: &Path, most: usize) -> Result<()> {
    let kept = versions(file)?
        .into_iter()
        .filter(|version| !version.current);

    for old in kept.skip(most) {
        fs::remove_file(&old.path).map_err(Error::io("removing", &old.path))?;
        // A version is kept with its delta.
        let _ = fs::remove_file(delta_of(old.path));
    }
    Ok(())
}

/// The version in a file, and then those kept next to it, the newest first. Checksums are not
/// verified. A kept copy of the current version is left out: an interrupted update leaves one.
///
/// # Errors
/// Errors of [`Snapshot::open`] for the file itself. Other files that are not snapshots are left
/// out.
pub fn versions(file: &Path) -> Result<Vec<KeptVersion>> {
    let current = read(file, true)?;
    let mut kept = Vec::new();
    // A file whose name only looks like that of a version must not make the others unreadable.
    for earlier in kept_files(file)? {
        if earlier.version != current.metadata.version {
            kept.extend(read(&earlier.path, false).ok());
        }
    }

    kept.sort_by_key(|version| std::cmp::Reverse(order(version)));
    kept.insert(0, current);
    Ok(kept)
}

/// The kept version with this number, by default the newest. Refuses one that is not kept.
pub(crate) fn find(file: &Path, wanted: Option<&str>) -> Result<KeptVersion> {
    let mut kept = versions(file)?
        .into_iter()
        .filter(|version| !version.current);
    let found = kept.find(|kept| wanted.is_none_or(|wanted| wanted == kept.metadata.version));

    found.ok_or_else(|| {
        let wanted = wanted.map_or("an earlier version".to_owned(), |version| {
            format!("version {version}")
        });
        let found = format!("{wanted} of {} is not kept", file.display());
        Error::options(
            found,
            "one that papir update --keep kept, or the file of another version",
        )
    })
}

/// Sorts versions by age. Two of the same second differ in the number of updates.
fn order(version: &KeptVersion) -> (String, u64) {
    (version.time().to_owned(), version.metadata.updates)
}

fn read(path: &Path, current: bool) -> Result<KeptVersion> {
    let snapshot = Snapshot::open_with(path, OpenOptions::lazy())?;
    let sequence = match &snapshot.checkpoint {
        Some(log) => {
            let leaf = log.newest().map_err(Error::of_checkpoint(path))?;
            Some(leaf.sequence)
        }
        None => None,
    };

    Ok(KeptVersion {
        path: path.to_owned(),
        metadata: snapshot.metadata,
        sequence,
        current,
    })
}

/// The files named like kept versions of `file`.
fn kept_files(file: &Path) -> Result<Vec<VersionFile>> {
    files_of_versions(file, "")
}

/// Removes the deltas next to `file` that belong neither to the version `current` nor to a kept
/// one. A merge that was killed before its last step leaves one.
pub(crate) fn remove_stray_deltas(file: &Path, current: Version) -> Result<()> {
    for VersionFile { path, version } in files_of_versions(file, DELTA_SUFFIX)? {
        if version != current.to_string() && !kept_path(file, &version)?.exists() {
            fs::remove_file(&path).map_err(Error::io("removing", &path))?;
        }
    }
    Ok(())
}
