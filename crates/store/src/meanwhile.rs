//! Refuses a new version if another program has published one while it was prepared.

use std::path::Path;

use papir_checkpoint::Log;
use papir_core::Version;

use crate::delta::Delta;
use crate::error::{Error, Result};
use crate::sections::Verify;
use crate::snapshot::{OpenOptions, Snapshot};
use crate::stored_log::stored_log;

/// The newest version of a database, and its log.
#[derive(PartialEq)]
pub(crate) struct Newest {
    base: Version,
    delta: Option<Version>,
    pub(crate) log: Option<Log>,
}

impl Newest {
    /// Reads the snapshot's and the delta's versions, and the newer log of both.
    ///
    /// # Errors
    /// The errors of [`stored_log`], and of a damaged delta.
    pub(crate) fn of(file: &Path) -> Result<Self> {
        let base = Snapshot::version_in(file)?;
        let lazily = OpenOptions {
            verify: Verify::Lazy,
            ..OpenOptions::default()
        };
        let delta = Delta::of(file, base, &lazily)?.map(|delta| delta.server.version());
        Ok(Self {
            base,
            delta,
            log: stored_log(file)?,
        })
    }
}

/// Refuses a version of `file` that was prepared from `begun` if that is no longer so: the version would undo
/// the others, and its log would fork. The caller has locked the deltas, and keeps the lock until the file has
/// appeared.
///
/// # Errors
/// [`Error::Options`].
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
