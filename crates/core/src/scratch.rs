//! Storage for the parts of a long preparation.
//!
//! A preparation that was interrupted continues from its parts in storage.

use rand_core::CryptoRng;

use crate::{AlignedBytes, Blob, Progress, Result};

/// The random generator of a preparation by tasks.
pub type PreparationRng = Box<dyn CryptoRng>;

/// The bytes of a part that belong to a range of slices. The pieces of all slices, in order, form
/// the whole part.
pub struct Piece {
    /// The part's name.
    pub part: String,
    /// The part's bytes for these slices.
    pub bytes: Blob,
}

/// Storage for the parts of a preparation. It contains only complete parts.
pub trait Scratch {
    /// Finds the part with this name; `None` if the storage does not have it.
    ///
    /// # Errors
    /// Errors of reading.
    fn find(&self, name: &str) -> Result<Option<Blob>>;

    /// Allocates zeroed memory for the part with this name, by default on the heap.
    ///
    /// # Errors
    /// Errors of storage outside the heap, for example a full disk.
    fn zeroed(&mut self, _name: &str, bytes: usize) -> Result<AlignedBytes> {
        Ok(AlignedBytes::zeroed(bytes))
    }

    /// Keeps a complete part, and returns its bytes. A name always has the same contents.
    ///
    /// # Errors
    /// Errors of writing.
    fn keep(&mut self, name: &str, part: AlignedBytes) -> Result<Blob>;

    /// Divides a preparation with these parameters among tasks, if this storage has tasks. The
    /// tasks make the parts, which [`Scratch::find`] then finds.
    ///
    /// Returns the tasks' random generator, which the preparation must use in place of `_rng`;
    /// `None` without tasks.
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

/// Finds the part with this name and a length of `bytes` bytes. If it is missing, makes it from
/// zeros with `fill`, and keeps it.
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

/// A [`Scratch`] in memory, which finds no parts.
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
