//! The newest log of a database.

use std::path::Path;

use papir_checkpoint::Log;

use crate::delta::delta_file;
use crate::error::{Error, Result};
use crate::snapshot::{Sign, Snapshot, delta_log_in, log_in};

/// The newest log of a database: in its delta or, without a delta, in the file. `None` if the
/// database is not signed. Verifies the checksums of metadata and logs only.
///
/// # Errors
/// [`Error::Snapshot`], [`Error::Checkpoint`], [`papir_core::Error::Io`].
pub fn stored_log(path: &Path) -> Result<Option<Log>> {
    let Some(log) = log_in(path)? else {
        return Ok(None);
    };

    // A delta has a leaf of its own, after that of its base.
    let delta = delta_file(path, Snapshot::version_in(path)?)?;
    let newer = if delta.exists() {
        delta_log_in(&delta, &log)?
    } else {
        None
    };
    Ok(Some(newer.unwrap_or(log)))
}

/// The log that the next version at `path` continues. Refuses a signed file without a key, except
/// for an explicitly unsigned version.
pub(crate) fn log_to_continue(
    log: Option<Log>,
    path: &Path,
    sign: Option<&Sign>,
    unsigned: bool,
) -> Result<Option<Log>> {
    // One of both is a mistake, and neither may win: an unsigned version locks clients out.
    if sign.is_some() && unsigned {
        return Err(Error::options(
            "a key to sign with, and an unsigned version",
            "one of them",
        ));
    }

    if unsigned {
        Ok(log)
    } else {
        continued(log, path, sign)
    }
}

/// Refuses a signed file without a key: a version without a signature would lock out the clients
/// that pin its owner's key.
pub(crate) fn continued(log: Option<Log>, path: &Path, sign: Option<&Sign>) -> Result<Option<Log>> {
    match log {
        Some(log) if sign.is_none() => Err(Error::Signed {
            file: path.display().to_string(),
            sequence: log.leaves().len() as u64 - 1,
        }),
        log => Ok(log),
    }
}
