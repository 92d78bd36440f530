//! Updates of a snapshot from changes, without the source.
//!
//! | module | task |
//! |---|---|
//! | [`keyed`] | patches the keyword table, or builds it again if the changes do not fit |
//! | [`indexed`] | replaces records; new records at the end need a setup of all records |
//! | [`delta`], [`append`], [`draft`] | publishes changes, or more records, beside the snapshot |
//! | [`merge`] | merges them into the snapshot |
//! | [`rollback`] | publishes the records of an earlier version as a new one |
//! | [`prepare`] | prepares the changed records by an update, or all by a setup |
//!
//! The new file replaces the old one once it is complete and durable.

mod append;
mod delta;
mod draft;
mod indexed;
mod keyed;
mod merge;
mod options;
mod overlay;
mod prepare;
mod report;
mod rollback;

use std::time::SystemTime;

use papir_checkpoint::Log;
use papir_core::{Progress, Version};
use papir_lookup::update::ChangeCounts;
use rand_core::CryptoRng;

use crate::delta::{lock_deltas, refuse_with_delta};
use crate::error::Result;
use crate::psi;
use crate::publish::{Keyword, Prepared, Readers, SnapshotFile, lock, save, sign};
use crate::snapshot::{
    KeywordSummary, Metadata, OpenOptions, Signed, Signing, Snapshot, newest_leaf, timestamp,
};
use crate::versions::{self, Newest, log_to_continue, refuse_published};
use prepare::{Next, NextKeys};

pub use append::{AppendOptions, append};
pub use delta::update_delta;
pub(crate) use draft::Draft;
pub use merge::{MergeOptions, merge};
pub use options::{REBUILD_ROOM, REBUILD_ROOM_OF_FEW, UpdateOptions};
pub use report::{DeltaReport, Prediction, UpdateReport, Way};
pub use rollback::{Earlier, RollbackOptions, rollback};

/// Updates a snapshot. If nothing changes, no file is written. The old file stays intact if the
/// update is interrupted at any point.
///
/// # Errors
/// Errors of the snapshot and of the file of changes, naming file and line;
/// [`crate::Error::Options`] for a snapshot without the ids of its keys, and if another program
/// publishes meanwhile; [`crate::Error::Signed`] and [`crate::Error::Checkpoint`]; errors of the
/// scheme; and [`papir_core::Error::Io`].
pub fn update(
    options: &UpdateOptions,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<UpdateReport> {
    options.check_output()?;
    let _lock = lock(&options.file)?;
    // Before anything that takes long: a signed file needs a key.
    let begun = Newest::of(&options.file)?;
    let log = log_to_continue(
        begun.log.clone(),
        &options.file,
        options.sign.as_ref(),
        options.unsigned,
    )?;

    let snapshot = open(options, progress)?;
    let path = options.out.as_ref().unwrap_or(&options.file);
    let name = &snapshot.metadata.name;
    let signing = Signing::of(options.sign.as_ref(), log, name, path)?;
    let (counts, next) = match &snapshot.keyword {
        Some(layout) => keyed::update(options, &snapshot, layout, rng, progress)?,
        None => indexed::update(options, &snapshot, rng, progress)?,
    };
    let Some(next) = next else {
        return Ok(unchanged(snapshot, counts));
    };

    let former = Former {
        metadata: &snapshot.metadata,
        version: snapshot.server.version(),
    };
    publish(
        options,
        former,
        counts,
        next,
        |version, sink, _| {
            // The log would fork, or a delta would be lost.
            if signing.is_some() || options.is_in_place() {
                refuse_published(&options.file, &begun, &Newest::of(&options.file)?)?;
            }
            sign(signing.as_ref(), version, sink)
        },
        rng,
        progress,
    )
}

/// Opens the snapshot to update. Refuses a prepared set, and a snapshot with a delta.
fn open(options: &UpdateOptions, progress: &dyn Progress) -> Result<Snapshot> {
    progress.stage("opening", 1);
    let opened = OpenOptions {
        owner: options.encrypt.clone(),
        ..OpenOptions::default()
    };
    let snapshot = Snapshot::open_with(&options.file, opened)?;
    progress.advance(1);

    psi::refuse(
        &snapshot,
        &options.file,
        "prepare it again with `papir psi prepare`",
    )?;
    refuse_with_delta(&snapshot, &options.file)?;
    Ok(snapshot)
}

/// The report of an update without changes.
fn unchanged(snapshot: Snapshot, counts: ChangeCounts) -> UpdateReport {
    UpdateReport {
        description: snapshot.server.describe(),
        metadata: snapshot.metadata,
        counts,
        way: Way::Unchanged,
        snapshot_bytes: snapshot.file_bytes,
        checkpoint: None,
    }
}

/// The version that the next one continues.
struct Former<'a> {
    /// The metadata to continue.
    metadata: &'a Metadata,
    /// The version of the file at the start.
    version: Version,
}

/// Writes the next version. `seal` runs just before the file appears, and signs the version. In
/// place, no other program publishes then, and `seal` refuses the version if one has published
/// meanwhile.
fn publish(
    options: &UpdateOptions,
    former: Former<'_>,
    counts: ChangeCounts,
    next: Next,
    seal: impl FnOnce(&Signed<'_>, &mut SnapshotFile, &mut dyn CryptoRng) -> Result<Option<Log>>,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<UpdateReport> {
    let metadata = metadata(options, former.metadata, &next);
    let Next {
        server,
        commitment,
        keyword,
        way,
    } = next;
    let owner = options.encrypt.as_ref();
    let owned = match &keyword {
        Some(NextKeys { layout, ids, .. }) => Some(Keyword::new(owner, layout, ids, rng)?),
        None => None,
    };
    let prepared = Prepared {
        metadata: &metadata,
        keyword: owned,
        commitment: commitment.as_ref(),
        server: server.as_ref(),
    };

    let replaced = former.version;
    let (snapshot_bytes, log) = write(options, replaced, &prepared, seal, rng, progress)?;
    Ok(UpdateReport {
        metadata,
        description: server.describe(),
        counts,
        way,
        snapshot_bytes,
        checkpoint: newest_leaf(log.as_ref()),
    })
}

/// Writes the snapshot. In place, keeps the replaced version, and removes old versions and deltas.
/// Returns the snapshot's length in bytes, and the log of a signed one.
fn write(
    options: &UpdateOptions,
    replaced: Version,
    prepared: &Prepared<'_>,
    seal: impl FnOnce(&Signed<'_>, &mut SnapshotFile, &mut dyn CryptoRng) -> Result<Option<Log>>,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<(u64, Option<Log>)> {
    let path = options.out.as_ref().unwrap_or(&options.file);
    let in_place = options.is_in_place();
    let keep = options.keep.filter(|_| in_place);
    let readers = if path.exists() {
        Readers::Kept
    } else {
        Readers::Of(&options.file)
    };

    let nonce = rng.next_u64();
    let mut deltas = None;
    let saved = save(
        path,
        readers,
        nonce,
        prepared,
        |version, sink| {
            // Locked until the old deltas are removed: a delta of the replaced version would be
            // lost.
            deltas = if in_place { lock_deltas(path)? } else { None };
            let log = seal(version, sink, rng)?;
            if keep.is_some() {
                versions::keep(path, replaced)?;
            }
            Ok(log)
        },
        progress,
    )?;

    if let Some(most) = keep {
        versions::prune(path, most)?;
    }
    if in_place {
        // Removes the delta of the version before, unless it is kept, and deltas of merges that
        // were killed before their last step.
        versions::remove_stray_deltas(path, prepared.server.version())?;
    }
    drop(deltas);
    Ok(saved)
}

/// The metadata after the update.
fn metadata(options: &UpdateOptions, former: &Metadata, next: &Next) -> Metadata {
    let shape = next.server.describe().shape;
    let layout = next.keyword.as_ref().map(|keys| &keys.layout);
    let root = next.commitment.as_ref();
    let root = root.map(|commitment| commitment.root(layout).to_string());
    let keyword = next.keyword.as_ref().map(|keys| keys.summary.clone());
    let keyword = if options.encrypt.is_some() {
        keyword.map(KeywordSummary::concealed)
    } else {
        keyword
    };

    Metadata {
        papir: env!("CARGO_PKG_VERSION").to_owned(),
        version: next.server.version().to_string(),
        records: shape.records(),
        record_bits: shape.record_bits(),
        root,
        keyword,
        updated: Some(timestamp(SystemTime::now())),
        updates: former.updates + 1,
        ..former.clone()
    }
}
