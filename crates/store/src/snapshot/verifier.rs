//! Verification of a snapshot that is already used.

use std::path::Path;
use std::sync::Arc;

use papir_checkpoint::Leaf;

use crate::error::{Error, Result};
use crate::file::{FilePiece, Sections};

/// Verifies what an opening with [`Verify::Lazy`](crate::Verify::Lazy) left, chunk by chunk.
pub struct Verifier {
    sections: Arc<Sections>,
    leaf: Option<Leaf>,
    file: String,
}

impl Verifier {
    pub(crate) fn new(sections: Arc<Sections>, leaf: Option<Leaf>, path: &Path) -> Self {
        Self {
            sections,
            leaf,
            file: path.display().to_string(),
        }
    }

    /// The number of bytes to verify.
    pub fn bytes(&self) -> u64 {
        self.sections
            .large_pieces()
            .iter()
            .map(FilePiece::bytes)
            .sum()
    }

    /// Checks the encoded bundle of the snapshot against the checkpoint of a signed database.
    ///
    /// # Errors
    /// [`Error::Checkpoint`].
    pub fn check_public_part(&self, bundle: &[u8]) -> Result<()> {
        let Some(leaf) = &self.leaf else {
            return Ok(());
        };
        leaf.check_public_part(bundle)
            .map_err(|error| Error::Checkpoint {
                file: self.file.clone(),
                error,
            })
    }

    /// Verifies one chunk after another on this thread, and passes the length of each to `go_on`,
    /// which ends the work by returning false. Returns whether all chunks were verified.
    ///
    /// # Errors
    /// [`Error::Snapshot`], which names the file and the damaged place.
    pub fn run(&self, go_on: &mut dyn FnMut(u64) -> bool) -> Result<bool> {
        // One after another: the service that runs it needs the other cores for answers.
        for piece in self.sections.large_pieces() {
            self.sections
                .verify_piece(&piece)
                .map_err(|error| self.damaged(error))?;
            if !go_on(piece.bytes()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn damaged(&self, error: papir_core::Error) -> Error {
        Error::Snapshot {
            file: self.file.clone(),
            error,
        }
    }
}
