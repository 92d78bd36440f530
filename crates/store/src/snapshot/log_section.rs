//! The log of a signed database in its file.

use std::path::Path;

use papir_checkpoint::Log;

use crate::error::{Error, Result};
use crate::file::{CHECKPOINT, Sections, map};

/// The log in a snapshot file; `None` if there is none. Verifies no checksum but that of the log.
pub(crate) fn log_in(path: &Path) -> Result<Option<Log>> {
    decoded(path, Log::decode)
}

/// The log in the file of a delta whose base has the log `base`; `None` if there is none. Verifies
/// no checksum but that of the log.
pub(crate) fn delta_log_in(path: &Path, base: &Log) -> Result<Option<Log>> {
    decoded(path, |bytes| Log::decode_delta(bytes, base))
}

/// The log in a file, as `decode` reads it.
fn decoded(
    path: &Path,
    decode: impl FnOnce(&[u8]) -> papir_checkpoint::Result<Log>,
) -> Result<Option<Log>> {
    let sections = Sections::read(map(path)?).map_err(Error::of_snapshot(path))?;
    sections
        .verify_named(&[CHECKPOINT])
        .map_err(Error::of_snapshot(path))?;
    let Some(section) = sections.find(CHECKPOINT) else {
        return Ok(None);
    };

    // Only this section was verified: the others may take minutes to read.
    let blob = sections
        .blob(&section.name)
        .map_err(Error::of_snapshot(path))?;
    let bytes: &[u8] = &blob;
    decode(bytes).map(Some).map_err(Error::of_checkpoint(path))
}
