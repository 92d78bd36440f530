//! Shards of a snapshot: ranges of its slices.

use std::ops::Range;
use std::path::Path;

use papir_core::erased::{ErasedShard, parameters_of, version_of};
use papir_core::{Division, Version};

use super::open::scheme_in;
use crate::error::{Error, Result};
use crate::file::{Sections, VerifiedParts, Verify, map};

/// The version of a snapshot and its slices. Reads its parameters only.
///
/// # Errors
/// The errors of [`Snapshot::open`](crate::Snapshot::open); [`papir_core::Error::Parameters`] for a
/// scheme whose databases have no slices.
pub fn division_of(path: &Path) -> Result<(Version, Division)> {
    with_sections(path, |file| {
        Ok((
            version_of(file)?,
            scheme_in(file)?
                .require_divided()?
                .describe(&parameters_of(file)?)?
                .division,
        ))
    })
}

/// Opens these slices of a snapshot. Only they are read, and verified first. The file stays mapped,
/// as in [`Snapshot::open`](crate::Snapshot::open).
///
/// # Errors
/// The errors of [`division_of`]; [`papir_core::Error::OutOfBounds`] for slices that do not exist.
pub fn open_shard(path: &Path, slices: Range<usize>) -> Result<ErasedShard> {
    with_sections(path, |file| {
        scheme_in(file)?
            .require_divided()?
            .load_shard(slices, &VerifiedParts(file))
    })
}

/// Reads the sections of a file, of which the short ones are verified.
fn with_sections<T>(
    path: &Path,
    read: impl FnOnce(&Sections) -> papir_core::Result<T>,
) -> Result<T> {
    let file = Sections::read(map(path)?).map_err(Error::of_snapshot(path))?;
    file.verify_at(Verify::Lazy)
        .and_then(|()| read(&file))
        .map_err(Error::of_snapshot(path))
}
