//! A prepared database as a source of its own records.

use crate::erased::ErasedServer;
use crate::{Records, Result, Shape};

/// The records of a prepared database, to prepare it again when their original source is gone.
///
/// Each [`Records::read_packed`] decodes the parts of the database that contain the records, so
/// long reads are the most efficient.
pub struct PreparedRecords<'a> {
    server: &'a dyn ErasedServer,
    shape: Shape,
}

impl<'a> PreparedRecords<'a> {
    /// The records of `server`. Reads fail with [`crate::Error::Unreadable`] if the scheme does not
    /// support it.
    pub fn new(server: &'a dyn ErasedServer) -> Self {
        Self {
            server,
            shape: server.describe().shape,
        }
    }
}

impl Records for PreparedRecords<'_> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.server.read_packed(first, count, out)
    }
}
