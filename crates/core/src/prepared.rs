//! Records read back from a prepared database.

use crate::erased::ErasedServer;
use crate::{Records, Result, Shape};

/// The records of a prepared database, as a source for another setup when their original source is
/// gone.
///
/// Each [`Records::read_packed`] decodes the parts of the database that contain the records. Long
/// reads are therefore the most efficient.
pub struct PreparedRecords<'a> {
    server: &'a dyn ErasedServer,
    shape: Shape,
}

impl<'a> PreparedRecords<'a> {
    /// The records of `server`. Reads fail with [`crate::Error::Unreadable`] if the scheme cannot
    /// read records back.
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
