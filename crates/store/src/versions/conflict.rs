//! Versions that another program publishes meanwhile.

use std::path::Path;

use papir_checkpoint::Log;
use papir_core::Version;

use super::log::stored_log;
use crate::delta::Delta;
use crate::error::{Error, Result};
use crate::snapshot::{OpenOptions, Snapshot};

/// The newest version of a database, and its log.
#[derive(PartialEq)]
pub(crate) struct Newest {
    base: Version,
    delta: Option<Version>,
    pub(crate) log: Option<Log>,
}

impl Newest {
    /// Reads the snapshot's and the delta's versions, and the newer log of both.
    pub(crate) fn of(file: &Path) -> Result<Self> {
        let base = Snapshot::version_in(file)?;
        // Only numbers are compared, so that no data need be verified.
        let delta = Delta::of(file, base, &OpenOptions::lazy())?;
        let delta = delta.map(|delta| delta.server.version());
        Ok(Self {
            base,
            delta,
            log: stored_log(file)?,
        })
    }
}

/// Refuses a version of `file` if `now` differs from `begun`, the state that it was prepared from:
/// the version would undo the others, and its log would fork. The caller has locked the deltas, and
/// keeps the lock until the file has appeared.
pub(crate) fn refuse_published<T: PartialEq>(file: &Path, begun: &T, now: &T) -> Result<()> {
    if begun == now {
        return Ok(());
    }

    let found = format!(
        "a version, delta or signature of {} that was published meanwhile",
        file.display()
    );
    Err(Error::options(found, "none during the work: run it again"))
}
