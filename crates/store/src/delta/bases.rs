//! Checks that a database can have a delta.

use std::path::Path;

use papir_lookup::delta::refusal;

use super::file::{Delta, delta_file};
use crate::error::{Error, Result};
use crate::psi;
use crate::snapshot::{OpenOptions, Snapshot};

/// Refuses a base that cannot have a delta yet.
pub(crate) fn check_base(base: &Snapshot, file: &Path) -> Result<()> {
    psi::refuse(base, file, "prepare it again with `papir psi prepare`")?;

    // Clients of a verifiable database pin its root, which does not change with a delta. Only a
    // signed leaf states both.
    let unsigned = base.commitment_top.is_some() && base.checkpoint.is_none();
    let reason = if unsigned {
        Some("a verifiable database without a signature: its root states no delta")
    } else {
        refusal(&base.server.describe())
    };
    let Some(reason) = reason else {
        return Ok(());
    };

    let found = format!("a delta beside {}, {reason}", file.display());
    Err(Error::options(
        found,
        "changes without --delta: `papir update`",
    ))
}

/// Refuses an operation on a snapshot that would lose the changes in its delta.
pub(crate) fn refuse_with_delta(base: &Snapshot, file: &Path) -> Result<()> {
    let version = base.server.version();
    let Some(delta) = Delta::of(file, version, &OpenOptions::lazy())? else {
        return Ok(());
    };

    // The next version of this file would have another number, and nobody would read the delta of
    // this one.
    let entries = delta.metadata.entries;
    let path = delta_file(file, version)?;
    let found = format!(
        "{} with {entries} changes beside it in {}",
        file.display(),
        path.display()
    );
    Err(Error::options(
        found,
        "a snapshot without a delta: merge it first (papir merge), or change it with --delta",
    ))
}
