//! Memory-mapped files.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use papir_core::Error as CoreError;

use crate::error::{Error, Result};

/// Maps a whole file for reading.
///
/// # Errors
/// [`CoreError::Io`] for an unreadable file, [`Error::Source`] with [`CoreError::EmptyDatabase`]
/// for an empty one.
pub(crate) fn map(path: &Path) -> Result<Arc<Mmap>> {
    let file = File::open(path).map_err(Error::io("opening", path))?;
    let metadata = file.metadata().map_err(Error::io("opening", path))?;
    if metadata.is_dir() {
        let directory = std::io::Error::from(std::io::ErrorKind::IsADirectory);
        return Err(Error::io("opening", path)(directory));
    }
    if metadata.len() == 0 {
        return Err(Error::of_source(path)(CoreError::EmptyDatabase.into()));
    }
    // SAFETY: reading a mapping is undefined behaviour if the file changes meanwhile, and no
    // program can keep others from changing it. papir itself never writes to a finished file: it
    // replaces snapshots by renaming, which leaves the mapped file unchanged. The documentation of
    // `build` and `Snapshot::open` asks operators to do the same with sources and snapshots.
    #[allow(unsafe_code)]
    let map = unsafe { Mmap::map(&file) };
    Ok(Arc::new(map.map_err(Error::io("mapping", path))?))
}
