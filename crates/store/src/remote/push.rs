//! Uploads a snapshot to an object store.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use blake3::Hash;
use futures_util::{StreamExt, TryStreamExt, stream};
use memmap2::Mmap;
use papir_core::{Progress, Version};

use super::location::Location;
use super::manifest::{Manifest, check_bytes};
use super::objects::{CONCURRENT, Objects};
use super::transfer::{PushOptions, PushReport};
use super::worker;
use crate::delta::refuse_with_delta;
use crate::error::Result;
use crate::file::map;
use crate::psi;
use crate::snapshot::{OpenOptions, Snapshot};

/// Verifies a snapshot and uploads its parts, then its manifest. Until the manifest is written,
/// readers see the previous snapshot. The manifest of the replaced version is kept. Parts uploaded
/// by an interrupted push are not uploaded again.
///
/// Push a name from one process at a time. Of two concurrent pushes the last to finish wins, and
/// pruning may remove parts of the other.
///
/// # Errors
/// Errors of [`Snapshot::open`]; [`crate::Error::Options`] for a snapshot with a delta;
/// [`papir_core::Error::OutOfBounds`] for the part length; and [`crate::Error::Remote`].
pub fn push(
    file: &Path,
    location: &Location,
    options: PushOptions,
    progress: &dyn Progress,
) -> Result<PushReport> {
    // One mapping for verification, hashes and upload: a file that is replaced meanwhile does not
    // mix with this one.
    let map = map(file)?;
    progress.stage("verifying", 1);
    let snapshot = Snapshot::of_bytes(Arc::clone(&map), file, OpenOptions::default())?;
    psi::refuse(
        &snapshot,
        file,
        "it contains the key that masks the elements",
    )?;

    // Readers of the store would serve the snapshot without its changes.
    refuse_with_delta(&snapshot, file)?;
    check_bytes(map.len() as u64, options.part_bytes)?;

    let manifest = describe(
        &map,
        snapshot.server.version(),
        options.part_bytes,
        progress,
    );
    // Its decoded sections are not needed for the upload.
    drop(snapshot);
    worker::run(|| upload(&map, location, manifest, options, progress))
}

/// The manifest of a snapshot.
fn describe(map: &Mmap, version: Version, part_bytes: u64, progress: &dyn Progress) -> Manifest {
    let bytes = map.len() as u64;
    progress.stage("hashing", bytes);

    let mut whole = blake3::Hasher::new();
    let mut parts = Vec::new();
    for part in map.chunks(part_bytes as usize) {
        whole.update(part);
        progress.advance(part.len() as u64);
        parts.push(blake3::hash(part));
    }

    Manifest {
        version,
        papir: env!("CARGO_PKG_VERSION").to_owned(),
        bytes,
        blake3: whole.finalize(),
        part_bytes,
        parts,
    }
}

/// Uploads the missing parts and the manifest, and prunes older parts if the options say so.
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
    let uploaded_parts = missing.len();
    let uploaded_bytes = missing
        .iter()
        .map(|&index| manifest.part_length(index))
        .sum();

    // The manifest comes last: readers that see it find all of its parts.
    progress.stage("uploading", uploaded_bytes);
    let uploads =
        stream::iter(missing).map(|index| upload_part(&objects, map, &manifest, index, progress));
    uploads
        .buffer_unordered(CONCURRENT)
        .try_collect::<()>()
        .await?;
    write_manifest(&objects, &manifest, replaced.as_ref()).await?;

    let removed_parts = match options.prune {
        Some(grace) => {
            // Readers may still fetch the replaced version, and services start with the one before
            // it.
            let previous = objects.find_previous().await?;
            let kept: Vec<&Manifest> = replaced
                .iter()
                .chain(&previous)
                .chain([&manifest])
                .collect();
            prune(&objects, &kept, grace).await?
        }
        None => 0,
    };

    Ok(PushReport {
        manifest,
        uploaded_parts,
        uploaded_bytes,
        removed_parts,
    })
}

async fn upload_part(
    objects: &Objects<'_>,
    map: &Mmap,
    manifest: &Manifest,
    index: usize,
    progress: &dyn Progress,
) -> Result<()> {
    let range = manifest.range(index);
    let bytes = map[range.start as usize..range.end as usize].to_vec();
    let length = bytes.len() as u64;

    objects.put_part(&manifest.parts[index], bytes).await?;
    progress.advance(length);
    Ok(())
}

/// Writes a manifest unless it is the one in the store, and keeps the manifest that it replaces.
async fn write_manifest(
    objects: &Objects<'_>,
    manifest: &Manifest,
    replaced: Option<&Manifest>,
) -> Result<()> {
    if replaced == Some(manifest) {
        return Ok(());
    }

    // Written before it is replaced, so that at no moment the store lacks it. A version that is
    // signed again does not count: the one before it is still the previous one.
    if let Some(replaced) = replaced.filter(|replaced| replaced.version != manifest.version) {
        objects.put_previous(replaced).await?;
    }
    objects.put_manifest(manifest).await
}

/// Indices of the parts that the store lacks, or has with another length. Equal parts count once. A
/// part of the right length is not read: if it is damaged, [`super::RemoteError::Damaged`] says
/// what to do.
async fn missing(objects: &Objects<'_>, manifest: &Manifest) -> Result<Vec<usize>> {
    let stored = objects.parts().await?;
    let mut seen: HashSet<&Hash> = HashSet::new();
    let mut missing = Vec::new();
    for (index, hash) in manifest.parts.iter().enumerate() {
        let present = stored
            .get(hash)
            .is_some_and(|part| part.bytes == manifest.part_length(index));
        if seen.insert(hash) && !present {
            missing.push(index);
        }
    }
    Ok(missing)
}

/// Deletes the parts that none of `manifests` lists and that are at least `grace` old. Returns the
/// number of deleted parts.
async fn prune(objects: &Objects<'_>, manifests: &[&Manifest], grace: Duration) -> Result<usize> {
    let listed: HashSet<&Hash> = manifests
        .iter()
        .flat_map(|manifest| &manifest.parts)
        .collect();

    let now = SystemTime::now();
    let mut removed = 0;
    for (hash, part) in objects.parts().await? {
        // A store whose clock runs ahead may date a part in the future: its age is then zero.
        let age = now.duration_since(part.modified).unwrap_or_default();
        if !listed.contains(&hash) && age >= grace {
            objects.delete(&part.key).await?;
            removed += 1;
        }
    }
    Ok(removed)
}
