//! Parts of a long preparation, kept so that an interrupted one continues with the first missing part.

use crate::{AlignedBytes, Blob, Result};

/// Storage of parts. A part that is found is complete.
pub trait Scratch {
    /// Finds the part of this name, if it has this many bytes.
    ///
    /// # Errors
    /// Errors of reading.
    fn find(&self, name: &str, bytes: u64) -> Result<Option<Blob>>;

    /// Keeps a part. The name determines its contents.
    ///
    /// # Errors
    /// Errors of writing.
    fn keep(&mut self, name: &str, part: AlignedBytes) -> Result<Blob>;
}

/// Parts in memory, never found again.
#[derive(Clone, Copy, Debug, Default)]
pub struct InMemory;

impl Scratch for InMemory {
    fn find(&self, _name: &str, _bytes: u64) -> Result<Option<Blob>> {
        Ok(None)
    }

    fn keep(&mut self, _name: &str, part: AlignedBytes) -> Result<Blob> {
        Ok(part.into())
    }
}
