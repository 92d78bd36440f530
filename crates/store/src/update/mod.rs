//! Updates of a snapshot from a file of changes, without the source.
//!
//! | module | task |
//! |---|---|
//! | [`keyed`] | patches the keyword table, or builds it again if the changes do not fit |
//! | [`indexed`] | replaces records; new records at the end need a setup of all records |
//! | [`delta`], [`append`], [`draft`] | publishes changes, or further records, beside the snapshot |
//! | [`merge`] | merges them into the snapshot |
//! | [`rollback`] | publishes the records of an earlier version as a new one |
//! | [`prepare`] | prepares the changed records by the scheme's update, or all by a setup, whichever is cheaper |
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
use papir_core::erased::ErasedServer;
use papir_core::{Progress, Version};
use papir_lookup::update::ChangeCounts;
use rand_core::CryptoRng;

use crate::delta::{lock_deltas, refuse_with_delta};
use crate::error::Result;
use crate::kept;
use crate::meanwhile::{Newest, refuse_published};
use crate::metadata::{KeywordSummary, Metadata, timestamp};
use crate::psi;
use crate::publish::{Readers, lock};
use crate::save::{Keyword, Prepared, SnapshotFile, save, sign};
use crate::signing::{Signed, Signing, newest_leaf};
use crate::snapshot::{OpenOptions, Snapshot};
use crate::stored_log::log_to_continue;
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
/// Errors of the snapshot and of the file of changes, naming file and line; [`crate::Error::Options`] for
/// a snapshot without the ids of its keys, and if another program publishes meanwhile; [`crate::Error::Signed`]
/// and [`crate::Error::Checkpoint`]; errors of the scheme; and [`papir_core::Error::Io`].
pub fn update(
    options: &UpdateOptions,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<UpdateReport> {
    let _lock = lock(&options.file)?;
    // Before anything that takes long: a signed file needs a key.
    let begun = Newest::of(&options.file)?;
    let log = log_to_continue(
        begun.log.clone(),
        &options.file,
        options.sign.as_ref(),
        options.unsigned,
    )?;
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
    let path = options.out.as_ref().unwrap_or(&options.file);
    let name = &snapshot.metadata.name;
    let signing = options
        .sign
        .as_ref()
        .map(|sign| Signing::new(sign, log, name, path))
        .transpose()?;
    let (counts, next) = match &snapshot.keyword {
        Some(layout) => keyed::update(options, &snapshot, layout, rng, progress)?,
        None => indexed::update(options, &snapshot, rng, progress)?,
    };
    match next {
        Some(next) => {
            let replaced = (&snapshot.metadata, snapshot.server.version());
            let seal = |version: &Signed<'_>, sink: &mut SnapshotFile, _: &mut dyn CryptoRng| {
                // The log would fork, or a delta would be lost.
                if signing.is_some() || options.is_in_place() {
                    refuse_published(&options.file, &begun, &Newest::of(&options.file)?)?;
                }
                sign(signing.as_ref(), version, sink)
            };
            publish(options, replaced, counts, next, (rng, progress), seal)
        }
        None => Ok(unchanged(snapshot, counts)),
    }
}

fn unchanged(snapshot: Snapshot, counts: ChangeCounts) -> UpdateReport {
    let description = snapshot.server.describe();
    let metadata = snapshot.metadata;
    let snapshot_bytes = snapshot.file_bytes;
    UpdateReport {
        metadata,
        description,
        counts,
        way: Way::Unchanged,
        snapshot_bytes,
        checkpoint: None,
    }
}

/// Writes the next version. `former` is the metadata that it continues, `replaced` the version of the
/// file at the start. `seal` runs just before the file appears, and signs the version. In place, nobody else
/// publishes then, and `seal` refuses the version if somebody has done so meanwhile.
fn publish(
    options: &UpdateOptions,
    (former, replaced): (&Metadata, Version),
    counts: ChangeCounts,
    next: Next,
    (rng, progress): (&mut dyn CryptoRng, &dyn Progress),
    seal: impl FnOnce(&Signed<'_>, &mut SnapshotFile, &mut dyn CryptoRng) -> Result<Option<Log>>,
) -> Result<UpdateReport> {
    let Next {
        server,
        commitment,
        keyword,
        way,
    } = next;
    let summary = keyword.as_ref().map(|keys| keys.summary.clone());
    let summary = if options.encrypt.is_some() {
        summary.map(KeywordSummary::concealed)
    } else {
        summary
    };
    let mut metadata = metadata(former, server.as_ref(), summary.as_ref());
    let layout = keyword.as_ref().map(|keys| &keys.layout);
    metadata.root = commitment
        .as_ref()
        .map(|commitment| commitment.root(layout).to_string());
    let commitment = commitment.as_ref();
    let owner = options.encrypt.as_ref();
    let owned = keyword
        .as_ref()
        .map(|NextKeys { layout, ids, .. }| Keyword::new(owner, layout, ids, rng))
        .transpose()?;
    let prepared = Prepared {
        metadata: &metadata,
        keyword: owned,
        commitment,
        server: server.as_ref(),
    };
    let path = options.out.as_ref().unwrap_or(&options.file);
    let in_place = options.is_in_place();
    let keep = options.keep.filter(|_| in_place);
    let nonce = rng.next_u64();
    let mut deltas = None;
    let seal = |version: &Signed<'_>, sink: &mut SnapshotFile| {
        deltas = if in_place { lock_deltas(path)? } else { None };
        let log = seal(version, sink, rng)?;
        keep.map_or(Ok(()), |_| kept::keep(path, replaced))?;
        Ok(log)
    };
    let readers = if path.exists() {
        Readers::Kept
    } else {
        Readers::Of(&options.file)
    };
    let (snapshot_bytes, log) = save((path, readers), nonce, &prepared, seal, progress)?;
    keep.map_or(Ok(()), |most| kept::prune(path, most))?;
    if in_place {
        // Of the version before, unless it is kept, and of merges that were killed before their last step.
        kept::remove_stray_deltas(path, server.version())?;
    }
    drop(deltas);
    let checkpoint = newest_leaf(log.as_ref());
    let description = server.describe();
    Ok(UpdateReport {
        metadata,
        description,
        counts,
        way,
        snapshot_bytes,
        checkpoint,
    })
}

/// The metadata after the update.
fn metadata(
    old: &Metadata,
    server: &dyn ErasedServer,
    keyword: Option<&KeywordSummary>,
) -> Metadata {
    let shape = server.describe().shape;
    Metadata {
        papir: env!("CARGO_PKG_VERSION").to_owned(),
        version: server.version().to_string(),
        records: shape.records(),
        record_bits: shape.record_bits(),
        keyword: keyword.cloned(),
        updated: Some(timestamp(SystemTime::now())),
        updates: old.updates + 1,
        ..old.clone()
    }
}
