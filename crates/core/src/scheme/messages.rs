//! Encodings, numbers and indices of a scheme's messages.

use crate::{Error, Result, Shape};

/// A message of a scheme, with its encoding. The parameters determine its length.
pub trait Wire<P>: Sized + Send {
    /// Encodes the message as the payload of an envelope.
    fn encode(&self, params: &P) -> Vec<u8>;

    /// Decodes a message from the payload of an envelope.
    ///
    /// # Errors
    /// [`Error::Length`] or [`Error::Malformed`].
    fn decode(params: &P, bytes: &[u8]) -> Result<Self>;
}

/// The type of messages that a scheme does not have, for example tickets. It has no values.
#[derive(Debug, Clone, Copy)]
pub enum Never {}

impl<P> Wire<P> for Never {
    fn encode(&self, _params: &P) -> Vec<u8> {
        match *self {}
    }

    fn decode(_params: &P, bytes: &[u8]) -> Result<Self> {
        let found = format!("{} bytes", bytes.len());
        Err(Error::malformed(
            "client keys or a ticket",
            found,
            "no such message in this scheme",
        ))
    }
}

/// The number of a query whose key was sent ahead, minus the number of the ticket with which it was
/// sent ahead. Tickets have smaller numbers than this.
pub const SENT_AHEAD: u64 = 1 << 63;

/// The error for a scheme whose clients send no keys ahead.
pub(super) fn nothing_ahead(scheme: &'static str) -> Error {
    Error::Parameters {
        scheme,
        reason: "its clients send nothing ahead".to_owned(),
    }
}

/// Checks that one query of a scheme may have this number of indices, and that they are in range.
///
/// # Errors
/// [`Error::BatchSize`] unless there are 1 to `capacity` indices, or [`Error::IndexOutOfRange`].
pub fn check_indices(
    scheme: &'static str,
    shape: &Shape,
    indices: &[u64],
    capacity: usize,
) -> Result<()> {
    if indices.is_empty() || indices.len() > capacity {
        return Err(Error::BatchSize {
            scheme,
            found: indices.len(),
            capacity,
        });
    }

    indices
        .iter()
        .try_for_each(|&index| shape.check_index(index))
}
