//! A snapshot file into an object store.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use blake3::Hash;
use futures_util::{StreamExt, TryStreamExt, stream};
use memmap2::Mmap;
use papir_core::{Progress, Version};

use super::manifest::{Manifest, PART_BYTES, check_bytes};
use super::objects::{CONCURRENT, Objects};
use super::prune::{GRACE, prune};
use super::{Location, worker};
use crate::map::map;
use crate::snapshot::{OpenOptions, Snapshot};
use crate::{Error, Result, psi};

/// How a snapshot is pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushOptions {
    /// Length of a part in bytes, 4 KiB to 64 MiB. Four parts are held in memory at a time.
    pub part_bytes: u64,
    /// Afterwards removes the parts that are older than this and that neither this snapshot nor the
    /// one it replaces has; `None` keeps them. Readers may still be fetching the replaced one.
    pub prune: Option<Duration>,
}

impl Default for PushOptions {
    /// Parts of 16 MiB; nothing is removed.
    fn default() -> Self {
        Self { part_bytes: PART_BYTES, prune: None }
    }
}

impl PushOptions {
    /// With parts removed that are older than [`GRACE`].
    pub fn pruning() -> Self {
        Self { prune: Some(GRACE), ..Self::default() }
    }
}

/// What a push did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushReport {
    /// What lies in the store now.
    pub manifest: Manifest,
    /// Parts that were uploaded; the others were there.
    pub uploaded_parts: usize,
    /// Their bytes.
    pub uploaded_bytes: u64,
    /// Parts of older snapshots that were removed.
    pub removed_parts: usize,
}

/// Verifies a snapshot and puts it into a store, its manifest last: until then readers see what was
/// there before. What an interrupted push has uploaded is not uploaded again. One push of a name at a
/// time: of two, the one that ends last is seen, and pruning may take parts of the other.
///
/// # Errors
/// Those of [`Snapshot::open`], of `options` ([`papir_core::Error::OutOfBounds`]), and
/// [`Error::Remote`].
pub fn push(
    file: &Path,
    location: &Location,
    options: PushOptions,
    progress: &dyn Progress,
) -> Result<PushReport> {
    let map = map(file)?;
    progress.stage("verifying", 1);
    let snapshot = Snapshot::of_map(Arc::clone(&map), file, OpenOptions::default())?;
    psi::refuse(&snapshot, file, "it holds the key that elements are masked with")?;
    check_bytes(map.len() as u64, options.part_bytes)?;
    let manifest = describe(&map, snapshot.server.version(), options.part_bytes, progress);
    drop(snapshot);
    worker::run(|| upload(&map, location, manifest, options, progress))
}

fn describe(map: &Mmap, version: Version, part_bytes: u64, progress: &dyn Progress) -> Manifest {
    progress.stage("hashing", map.len() as u64);
    let mut whole = blake3::Hasher::new();
    let hash = |part: &[u8]| {
        whole.update(part);
        progress.advance(part.len() as u64);
        blake3::hash(part)
    };
    let parts = map.chunks(part_bytes as usize).map(hash).collect();
    let (papir, bytes) = (env!("CARGO_PKG_VERSION").to_owned(), map.len() as u64);
    Manifest { version, papir, bytes, blake3: whole.finalize(), part_bytes, parts }
}

async fn upload(
    map: &Mmap,
    location: &Location,
    manifest: Manifest,
    options: PushOptions,
    progress: &dyn Progress,
) -> Result<PushReport> {
    let objects = Objects::open(location)?;
    let replaced = objects.find_manifest().await?;
    let missing = missing(&objects, &manifest).await?;
    let length = |index: &usize| manifest.range(*index).end - manifest.range(*index).start;
    let uploaded_bytes = missing.iter().map(length).sum();
    progress.stage("uploading", uploaded_bytes);
    let put = |index: usize| {
        let (objects, range, hash) = (&objects, manifest.range(index), manifest.parts[index]);
        async move {
            let bytes = map[range.start as usize..range.end as usize].to_vec();
            let length = bytes.len() as u64;
            objects.put_part(&hash, bytes).await?;
            progress.advance(length);
            Ok::<(), Error>(())
        }
    };
    let uploaded_parts = missing.len();
    stream::iter(missing).map(put).buffer_unordered(CONCURRENT).try_collect::<()>().await?;
    if replaced.as_ref() != Some(&manifest) {
        objects.put_manifest(&manifest).await?;
    }
    let removed_parts = match options.prune {
        Some(grace) => {
            let kept: Vec<&Manifest> = replaced.iter().chain([&manifest]).collect();
            prune(&objects, &kept, grace).await?
        }
        None => 0,
    };
    Ok(PushReport { manifest, uploaded_parts, uploaded_bytes, removed_parts })
}

/// The parts that the store lacks, or has in another length, each once.
async fn missing(objects: &Objects<'_>, manifest: &Manifest) -> Result<Vec<usize>> {
    let stored = objects.parts().await?;
    let mut seen: HashSet<Hash> = HashSet::new();
    let is_missing = |index: &usize| {
        let (hash, range) = (manifest.parts[*index], manifest.range(*index));
        let there = stored.get(&hash).is_some_and(|part| part.bytes == range.end - range.start);
        seen.insert(hash) && !there
    };
    Ok((0..manifest.parts.len()).filter(is_missing).collect())
}
