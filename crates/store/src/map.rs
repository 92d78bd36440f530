//! Files as memory.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use papir_core::{Error as CoreError, Records, Result as CoreResult, Shape};

use crate::source::raw::shape;
use crate::{Error, Result};

/// Maps a whole file for reading.
///
/// # Errors
/// [`CoreError::Io`] for what is no readable file, [`Error::Source`] with [`CoreError::EmptyDatabase`]
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
    // SAFETY: a mapping is undefined when another program changes the file meanwhile, which no
    // program can rule out for itself. papir never writes to a file that it has finished: it
    // replaces snapshots by renaming, which leaves the mapped file as it is. For sources and
    // snapshots the operator is told the same (see `build` and `Snapshot::open`).
    #[allow(unsafe_code)]
    let map = unsafe { Mmap::map(&file) };
    Ok(Arc::new(map.map_err(Error::io("mapping", path))?))
}

/// Fixed-size records of a mapped file.
pub(crate) struct MappedRecords {
    shape: Shape,
    map: Arc<Mmap>,
}

impl MappedRecords {
    /// The records of a file of packed records of `record_bytes` bytes each.
    ///
    /// # Errors
    /// Those of the file, and of its [`shape`].
    pub(crate) fn open(path: &Path, record_bytes: u64) -> Result<Self> {
        let map = map(path)?;
        let shape = shape(path, map.len() as u64, record_bytes)?;
        Ok(Self { shape, map })
    }
}

impl Records for MappedRecords {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> CoreResult<()> {
        let (length, end) = (self.shape.record_bytes(), first.saturating_add(count));
        if end > self.shape.records() {
            return Err(CoreError::IndexOutOfRange { found: end - 1, records: self.shape.records() });
        }
        CoreError::check_length("the buffer for packed records", out.len(), count as usize * length)?;
        out.copy_from_slice(&self.map[first as usize * length..end as usize * length]);
        Ok(())
    }
}
