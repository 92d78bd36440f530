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
//! | [`publication`] | writes the next version, and keeps or removes former ones |
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
mod publication;
mod report;
mod rollback;

use papir_core::{Progress, Run};
use papir_lookup::update::ChangeCounts;

use crate::delta::refuse_with_delta;
use crate::error::Result;
use crate::psi;
use crate::publish::{lock, sign};
use crate::snapshot::{OpenOptions, Signing, Snapshot};
use crate::versions::{Newest, log_to_continue, refuse_published};
use publication::{Former, Publication};

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
pub fn update(options: &UpdateOptions, run: &mut Run<'_>) -> Result<UpdateReport> {
    options.check_output()?;

    // Locked to the end: the later of two updates would undo the earlier.
    let _lock = lock(&options.file)?;

    // Before anything that takes long: a signed file needs a key.
    let begun = Newest::of(&options.file)?;
    let log = log_to_continue(
        begun.log.clone(),
        &options.file,
        options.sign.as_ref(),
        options.unsigned,
    )?;

    let snapshot = open(options, run.progress)?;
    let path = options.out.as_ref().unwrap_or(&options.file);
    let name = &snapshot.metadata.name;
    let signing = Signing::of(options.sign.as_ref(), log, name, path)?;
    let (counts, next) = match &snapshot.keyword {
        Some(layout) => keyed::update(options, &snapshot, layout, run)?,
        None => indexed::update(options, &snapshot, run)?,
    };
    let Some(next) = next else {
        return Ok(unchanged(snapshot, counts));
    };

    let publication = Publication {
        options,
        former: Former {
            metadata: &snapshot.metadata,
            version: snapshot.server.version(),
        },
        counts,
        next,
    };
    publication.run(
        |version, sink, _| {
            // Deltas have a lock of their own, which this update takes only now, and some file
            // systems have no locks: the log would fork, or a delta would be lost.
            if signing.is_some() || options.is_in_place() {
                refuse_published(&options.file, &begun, &Newest::of(&options.file)?)?;
            }
            sign(signing.as_ref(), version, sink)
        },
        run,
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
