//! Parts of a long preparation, in memory or in storage.
//!
//! An interrupted preparation continues from the parts in storage.

use rand_core::CryptoRng;

use crate::{AlignedBytes, Blob, Progress, Result};

/// Randomness of a preparation.
pub type PreparationRng = Box<dyn CryptoRng>;

/// The bytes of a part that belong to some slices. The whole part is the pieces of all slices, in
/// order.
pub struct Piece {
    /// The part's name.
    pub part: String,
    /// The bytes of these slices.
    pub bytes: Blob,
}

/// Storage of parts. A part that is found is complete.
pub trait Scratch {
    /// Finds the part of this name.
    ///
    /// # Errors
    /// Errors of reading.
    fn find(&self, name: &str) -> Result<Option<Blob>>;

    /// Zeroed memory for the part of this name, on the heap by default.
    ///
    /// # Errors
    /// Errors of storage outside the heap, such as a full disk.
    fn zeroed(&mut self, _name: &str, bytes: usize) -> Result<AlignedBytes> {
        Ok(AlignedBytes::zeroed(bytes))
    }

    /// Keeps a part. The name determines its contents.
    ///
    /// # Errors
    /// Errors of writing.
    fn keep(&mut self, name: &str, part: AlignedBytes) -> Result<Blob>;

    /// Divides a preparation with these parameters among tasks, if there are tasks, which make its
    /// parts. [`Scratch::find`] then finds them.
    ///
    /// Returns the randomness of the tasks, which the preparation must use then; `None` without
    /// tasks.
    ///
    /// # Errors
    /// Errors of the tasks and of the storage; [`crate::Error::Parameters`] for a scheme that
    /// prepares all slices together.
    fn divide(
        &mut self,
        _scheme: &'static str,
        _parameters: &[u8],
        _rng: &mut dyn CryptoRng,
        _progress: &dyn Progress,
    ) -> Result<Option<PreparationRng>> {
        Ok(None)
    }
}

/// Finds the part with this name and length in bytes. Otherwise makes it from zeros by `fill`, and
/// keeps it.
///
/// # Errors
/// Errors of the storage and of `fill`.
pub fn find_or_make(
    scratch: &mut dyn Scratch,
    name: &str,
    bytes: usize,
    fill: impl FnOnce(&mut AlignedBytes) -> Result<()>,
) -> Result<Blob> {
    // Only the length is checked: the name determines the contents.
    if let Some(found) = scratch.find(name)?.filter(|part| part.len() == bytes) {
        return Ok(found);
    }

    let mut part = scratch.zeroed(name, bytes)?;
    fill(&mut part)?;
    scratch.keep(name, part)
}

/// Parts in memory, never found again.
#[derive(Clone, Copy, Debug, Default)]
pub struct InMemory;

impl Scratch for InMemory {
    fn find(&self, _name: &str) -> Result<Option<Blob>> {
        Ok(None)
    }

    fn keep(&mut self, _name: &str, part: AlignedBytes) -> Result<Blob> {
        Ok(part.into())
    }
}
