//! A prepared database as the source of its own records.

use crate::erased::ErasedServer;
use crate::{Records, Result, Shape};

/// The records of a prepared database, for preparing it anew where their source is gone.
///
/// Each read of [`Records::read_packed`] decodes the parts of the database that hold its records:
/// long runs cost least.
pub struct PreparedRecords<'a> {
    server: &'a dyn ErasedServer,
    shape: Shape,
}

impl<'a> PreparedRecords<'a> {
    /// The records of `server`. Reads fail with [`crate::Error::Unreadable`] where its scheme gives none.
    pub fn new(server: &'a dyn ErasedServer) -> Self {
        Self { server, shape: server.describe().shape }
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
