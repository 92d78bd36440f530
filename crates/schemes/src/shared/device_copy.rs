//! Copies of matrices on a device.

use std::sync::Arc;

use papir_core::Result;
use papir_core::device::{Device, HeldMatrix, Tiles, Words};

/// Copy of a matrix in the memory of a device, or none. A clone shares it.
#[derive(Clone, Default)]
pub(crate) struct DeviceCopy(Option<Arc<dyn HeldMatrix>>);

impl DeviceCopy {
    /// Copies the tiles of a matrix to a device. Tiles that are not whole row groups give
    /// [`papir_core::Error::Length`].
    pub(crate) fn on(
        device: &dyn Device,
        words: Words,
        columns: usize,
        tiles: &[u8],
    ) -> Result<Self> {
        Ok(Self(Some(device.hold(Tiles::new(words, columns, tiles)?)?)))
    }

    /// Returns true if no device holds the matrix.
    pub(crate) fn is_nowhere(&self) -> bool {
        self.0.is_none()
    }

    /// Computes the products of the matrix and vectors modulo 2^`bits`. Returns `None` if no device
    /// holds the matrix, or if the device fails; it reports the failure itself.
    pub(crate) fn products(&self, vectors: &[&[u64]], bits: u32) -> Option<Vec<Vec<u64>>> {
        self.0.as_ref()?.products(vectors, bits).ok()
    }
}
