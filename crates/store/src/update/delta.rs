//! Publishes changes as a delta beside the snapshot.

use papir_core::Run;

use super::draft::Draft;
use super::options::UpdateOptions;
use super::report::DeltaReport;
use crate::delta::lock_deltas;
use crate::error::{Error, Result};
use crate::source::read_changes;

/// Publishes changes as a delta beside the snapshot, with the changes of the delta before. The
/// snapshot itself stays as it is. Returns `None` if there are no changes at all.
///
/// # Errors
/// [`Error::Options`] for a base that cannot have a delta; [`Error::Signed`] for a signed base
/// without a key; [`Error::DeltaFull`] for changes of more than `most` bytes; errors of the file of
/// changes, naming file and line; errors of the snapshot and of the file system.
pub fn update_delta(
    options: &UpdateOptions,
    most: Option<u64>,
    run: &mut Run<'_>,
) -> Result<Option<DeltaReport>> {
    refuse_options(options)?;

    // Locked before the delta is read: one that is published before this one is written would be
    // lost.
    let _lock = lock_deltas(&options.file)?;
    let mut draft = Draft::open(&options.file, options.sign.as_ref())?;

    // Columns that are not given are those of the source, which the base names.
    let format = options.changes_format()?;
    let columns = options.columns(format, draft.metadata(), draft.longest())?;
    for file in options.files() {
        let rows = read_changes(file, Some(format), &columns, run.progress)?;
        draft.add(rows, file)?;
    }
    draft.publish(most, run)
}

/// Refuses options of an update that a delta does not have.
fn refuse_options(options: &UpdateOptions) -> Result<()> {
    let found = match options {
        UpdateOptions { out: Some(_), .. } => "another file for a delta",
        UpdateOptions { rebuild: true, .. } => "a rebuild of a delta",
        UpdateOptions {
            encrypt: Some(_), ..
        } => "an encrypted delta",
        UpdateOptions { unsigned: true, .. } => "an unsigned version that is a delta",
        _ => return Ok(()),
    };

    Err(Error::options(
        found,
        "changes that are published beside the snapshot",
    ))
}
