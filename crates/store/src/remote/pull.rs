//! Downloads a snapshot from an object store.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use blake3::Hash;
use futures_util::{StreamExt, stream};
use papir_checkpoint::{Policy, VerifyingKey};
use papir_core::{Error as CoreError, Progress, Version};

use super::error::RemoteError;
use super::location::Location;
use super::manifest::Manifest;
use super::objects::{CONCURRENT, Objects};
use super::partial::{Partial, hashes, open_existing};
use super::transfer::{PullOptions, PullReport};
use super::worker;
use crate::delta::{delta_file, lock_deltas};
use crate::error::{Error, Result};
use crate::file::stem_of;
use crate::publish::{check_output, kept_path, lock};
use crate::snapshot::Snapshot;
use crate::versions::{ReplacedVersion, is_within, stored_log};

/// Downloads a snapshot to `file`. Parts that the existing file has, or that an interrupted pull
/// has fetched, are not fetched again. The file is created or replaced once the download is
/// complete, verified and durable.
///
/// # Errors
/// [`Error::Options`] while the file is updated, if it has changes beside it that would be lost,
/// and if its log has versions that the download's has not; [`Error::Remote`] with
/// [`RemoteError::NotFound`], [`RemoteError::Denied`] or [`RemoteError::Damaged`]; and
/// [`papir_core::Error::Io`]. On failure the file stays unchanged.
pub fn pull(location: &Location, file: &Path, progress: &dyn Progress) -> Result<PullReport> {
    pull_with(location, file, &PullOptions::default(), progress)
}

/// Like [`pull`], with options. With an owner's key, the log of the download is verified against it
/// and the database's name before the file is created or replaced.
///
/// # Errors
/// Errors of [`pull`]; [`Error::Options`] for a file that papir did not write, and for a snapshot
/// that is not signed although an owner's key is given; [`Error::Checkpoint`] for one that is not
/// signed under that key, or as a database of another name; [`Error::Snapshot`] for one that its
/// log does not state.
pub fn pull_with(
    location: &Location,
    file: &Path,
    options: &PullOptions,
    progress: &dyn Progress,
) -> Result<PullReport> {
    check_output(file, &[], options.force)?;
    let demand = options.owner.as_ref().map(|owner| OwnerDemand {
        owner,
        name: options
            .name
            .clone()
            .unwrap_or_else(|| stem_of(Path::new(location.name()))),
    });

    // Locked for the whole download: an update of the file meanwhile would be lost.
    let _lock = if file.exists() { lock(file)? } else { None };
    worker::run(|| async {
        let objects = Objects::open(location)?;
        let manifest = objects.manifest().await?;

        // Checked before the download as well, which takes long and would be for nothing.
        let version = manifest.version;
        refuse_delta(file, version)?;

        let files = Files {
            target: file,
            similar: file,
        };
        let report = fetch(
            &objects,
            manifest,
            files,
            |partial| finish_over(partial, file, version, demand.as_ref()),
            progress,
        )
        .await?;

        // A file that is equal already is not written again, but believed as little.
        if let Some(demand) = demand.as_ref().filter(|_| !report.changed) {
            demand.check(file, file)?;
        }
        Ok(report)
    })
}

/// Replaces `file` by a complete download, unless changes or signed versions would be lost.
fn finish_over(
    partial: Partial,
    file: &Path,
    version: Version,
    demand: Option<&OwnerDemand<'_>>,
) -> Result<()> {
    // First, since it takes long: meanwhile others may publish.
    let checked = demand.map_or(Ok(()), |demand| demand.check(partial.path(), file));
    if let Err(error) = checked {
        partial.discard();
        return Err(error);
    }

    // Locked before the check: changes published between it and the renaming would be lost.
    let _deltas = lock_deltas(file)?;
    let checked = refuse_delta(file, version).and_then(|()| refuse_fork(file, partial.path()));
    match checked {
        Ok(()) => partial.finish(),
        Err(error) => {
            partial.discard();
            Err(error)
        }
    }
}

/// The signature that a download must have. Without one, the store is trusted.
struct OwnerDemand<'a> {
    owner: &'a VerifyingKey,
    /// The database's name.
    name: String,
}

impl OwnerDemand<'_> {
    /// Checks that the owner has signed the snapshot at `path`, to be named `file`, as the database
    /// of this name.
    fn check(&self, path: &Path, file: &Path) -> Result<()> {
        // All checksums are verified: the log states the hashes of the sections only.
        let snapshot = Snapshot::open(path)?;
        let Some(log) = &snapshot.checkpoint else {
            return Err(Error::options(
                "a snapshot without a checkpoint",
                format!("one that {} has signed", self.owner.name()),
            ));
        };

        // The name is not the snapshot's: a store that is not trusted could give another database
        // of the same owner.
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |time| time.as_secs());
        let policy = Policy::new(self.owner, &self.name, now);

        let accepted = log.proof().and_then(|proof| policy.accept(&proof));
        accepted.map(drop).map_err(Error::of_checkpoint(file))
    }
}

/// Refuses to replace a file by another version if changes are beside it.
fn refuse_delta(file: &Path, version: Version) -> Result<()> {
    // A file that is not a snapshot has none.
    let Ok(own) = Snapshot::version_in(file) else {
        return Ok(());
    };
    if own == version || !delta_file(file, own)?.exists() {
        return Ok(());
    }

    let found = format!(
        "changes beside {}, which pulling version {version} would lose",
        file.display()
    );
    Err(Error::options(
        found,
        "none: merge and push them, or pull to another file",
    ))
}

/// Refuses to replace a signed file by one whose log does not continue its own: the next version
/// would fork it.
fn refuse_fork(file: &Path, pulled: &Path) -> Result<()> {
    let Ok(Some(own)) = stored_log(file) else {
        return Ok(());
    };
    let theirs = stored_log(pulled)?;
    if theirs.is_some_and(|log| log.leaves().starts_with(own.leaves())) {
        return Ok(());
    }

    let found = format!(
        "signed versions of {} that the store's log does not have",
        file.display()
    );
    let expected =
        "a log that continues them: push them or, if the store is right, remove the file";
    Err(Error::options(found, expected))
}

/// Fetches the description of the snapshot at a location, and nothing else.
///
/// # Errors
/// [`Error::Remote`] with [`RemoteError::NotFound`], [`RemoteError::Denied`] or
/// [`RemoteError::Damaged`].
pub fn manifest(location: &Location) -> Result<Manifest> {
    worker::run(|| async { Objects::open(location)?.manifest().await })
}

/// Like [`pull`], but does nothing more if the manifest is still `known` and the file exists.
pub(super) fn pull_newer(
    location: &Location,
    file: &Path,
    known: Option<&Manifest>,
    progress: &dyn Progress,
) -> Result<PullReport> {
    worker::run(|| async {
        let objects = Objects::open(location)?;
        let manifest = objects.manifest().await?;
        if known == Some(&manifest) && file.exists() {
            return Ok(unchanged(manifest));
        }

        let files = Files {
            target: file,
            similar: file,
        };
        fetch(&objects, manifest, files, Partial::finish, progress).await
    })
}

/// The report of a pull without a change.
fn unchanged(manifest: Manifest) -> PullReport {
    PullReport {
        manifest,
        changed: false,
        fetched_parts: 0,
        fetched_bytes: 0,
    }
}

/// Downloads the version that the one at `location` replaced, next to `file`, if it was replaced no
/// longer ago than `within`. Parts that `file` has are not fetched. `None` if there is no such
/// version.
pub(super) fn pull_previous(
    location: &Location,
    file: &Path,
    within: Duration,
    progress: &dyn Progress,
) -> Result<Option<ReplacedVersion>> {
    worker::run(|| async {
        let objects = Objects::open(location)?;
        let (newest, since) = objects.dated_manifest().await?;
        let found = if is_within(since, within) {
            objects.find_previous().await?
        } else {
            None
        };

        // The same version: a push was interrupted before it wrote the newest manifest.
        let Some(manifest) = found.filter(|manifest| manifest.version != newest.version) else {
            return Ok(None);
        };

        let path = kept_path(file, &manifest.version.to_string())?;
        let files = Files {
            target: &path,
            similar: file,
        };
        fetch(&objects, manifest, files, Partial::finish, progress).await?;
        Ok(Some(ReplacedVersion { path, since }))
    })
}

/// The files of a download.
struct Files<'a> {
    target: &'a Path,
    /// A file that may have parts of the snapshot; often the target itself.
    similar: &'a Path,
}

/// Like [`pull`], for a manifest already fetched. Parts that the similar file has are not fetched.
/// `finish` gives the complete download its name.
async fn fetch(
    objects: &Objects<'_>,
    manifest: Manifest,
    files: Files<'_>,
    finish: impl FnOnce(Partial) -> Result<()>,
    progress: &dyn Progress,
) -> Result<PullReport> {
    // Opened first: it waits for other pulls, which may complete the same file.
    let Files { target, similar } = files;
    let mut partial = Partial::open(target, similar, &manifest)?;
    let mut local = LocalFile::open(target, &manifest, progress)?;
    if local
        .as_ref()
        .is_some_and(|file| file.blake3 == manifest.blake3)
    {
        partial.discard();
        return Ok(unchanged(manifest));
    }

    if similar != target {
        local = LocalFile::open(similar, &manifest, progress)?;
    }
    partial.check_disk(&manifest)?;
    progress.stage("checking the download", partial.length()?);
    let present = partial.present(&manifest, progress)?;
    let wanted: Vec<usize> = (0..present.len())
        .filter(|&index| !present[index])
        .collect();

    // The first part comes first and alone: it states the length of the snapshot. Without it, a
    // manifest could have any number of parts fetched.
    let first = usize::from(wanted.first() == Some(&0));
    let mut fetched_parts = 0;
    let mut fetched_bytes = 0;
    for wanted in [&wanted[..first], &wanted[first..]] {
        let missing = match &mut local {
            Some(local) => local.copy_parts(&manifest, wanted.to_vec(), &mut partial)?,
            None => wanted.to_vec(),
        };
        fetched_bytes += fetch_parts(objects, &manifest, &missing, &mut partial, progress).await?;
        fetched_parts += missing.len();
        partial = of_stated_length(objects, &manifest, partial)?;
    }

    let partial = verified(objects, &manifest, partial, progress)?;
    finish(partial)?;
    Ok(PullReport {
        manifest,
        changed: true,
        fetched_parts,
        fetched_bytes,
    })
}

/// Refuses a download whose first part states another length than the manifest, and removes it.
fn of_stated_length(
    objects: &Objects<'_>,
    manifest: &Manifest,
    mut partial: Partial,
) -> Result<Partial> {
    let stated = partial.stated_length()?;
    if stated == Some(manifest.bytes) {
        return Ok(partial);
    }

    partial.discard();
    let expected = match stated {
        Some(bytes) => format!("{bytes}, as the snapshot states"),
        None => "the length of a snapshot, which its first part states".to_owned(),
    };
    Err(RemoteError::Manifest {
        object: objects.manifest_address(),
        error: CoreError::malformed("a manifest", format!("{} bytes", manifest.bytes), expected),
    }
    .into())
}

/// Checks the hash of a complete download, which is removed if it is wrong.
fn verified(
    objects: &Objects<'_>,
    manifest: &Manifest,
    mut partial: Partial,
    progress: &dyn Progress,
) -> Result<Partial> {
    progress.stage("verifying", manifest.bytes);
    let found = partial.hash(manifest, progress)?;
    if found == manifest.blake3 {
        return Ok(partial);
    }

    // Its parts match the manifest: if it stayed, another pull would fetch none of them.
    partial.discard();
    let object = objects.manifest_address();
    let found = found.to_string();
    let expected = manifest.blake3.to_string();
    Err(RemoteError::Inconsistent {
        object,
        found,
        expected,
    }
    .into())
}

/// Fetches parts, [`CONCURRENT`] at a time, and writes each as it arrives. Returns their total
/// number of bytes.
async fn fetch_parts(
    objects: &Objects<'_>,
    manifest: &Manifest,
    wanted: &[usize],
    partial: &mut Partial,
    progress: &dyn Progress,
) -> Result<u64> {
    let total = wanted
        .iter()
        .map(|&index| manifest.part_length(index))
        .sum();
    progress.stage("fetching", total);

    let mut fetches = stream::iter(wanted)
        .map(|&index| async move { (index, objects.part(manifest, index).await) })
        .buffer_unordered(CONCURRENT);
    while let Some((index, bytes)) = fetches.next().await {
        let bytes = bytes?;
        partial.write(manifest.range(index).start, &bytes)?;
        progress.advance(bytes.len() as u64);
    }
    Ok(total)
}

/// A file of another version. It often has most parts of the wanted one.
struct LocalFile<'a> {
    path: &'a Path,
    file: File,
    /// Offset of each part by its hash.
    offsets: HashMap<Hash, u64>,
    /// BLAKE3 of the whole file.
    blake3: Hash,
}

impl<'a> LocalFile<'a> {
    fn open(path: &'a Path, manifest: &Manifest, progress: &dyn Progress) -> Result<Option<Self>> {
        let Some(mut file) = open_existing(path)? else {
            return Ok(None);
        };

        let length = file.metadata().map_err(Error::io("reading", path))?.len();
        progress.stage("checking the file", length);
        let hashes = hashes(&mut file, path, manifest.part_bytes, progress)?;

        let offsets = hashes
            .parts
            .into_iter()
            .zip((0..).step_by(manifest.part_bytes as usize))
            .collect();
        Ok(Some(Self {
            path,
            file,
            offsets,
            blake3: hashes.whole,
        }))
    }

    /// Copies the wanted parts that this file has into `partial`. Returns the others.
    fn copy_parts(
        &mut self,
        manifest: &Manifest,
        wanted: Vec<usize>,
        partial: &mut Partial,
    ) -> Result<Vec<usize>> {
        let mut left = Vec::new();
        for index in wanted {
            let hash = manifest.parts[index];
            match self.offsets.get(&hash) {
                Some(&offset) => {
                    let bytes = self.read(offset, manifest.part_length(index))?;
                    partial.write(manifest.range(index).start, &bytes)?;
                }
                None => left.push(index),
            }
        }
        Ok(left)
    }

    fn read(&mut self, offset: u64, length: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length as usize];
        let read = self
            .file
            .seek(SeekFrom::Start(offset))
            .and_then(|_| self.file.read_exact(&mut bytes));
        read.map_err(Error::io("reading", self.path))?;
        Ok(bytes)
    }
}
