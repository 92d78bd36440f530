//! Messages of a scheme: their bytes, numbers and indices.

use crate::{Error, Result, Shape};

/// A message with a wire format; its length follows from the parameters.
pub trait Wire<P>: Sized + Send {
    /// Encodes the payload, without the envelope.
    fn encode(&self, params: &P) -> Vec<u8>;

    /// Decodes a payload.
    ///
    /// # Errors
    /// [`Error::Length`] or [`Error::Malformed`].
    fn decode(params: &P, bytes: &[u8]) -> Result<Self>;
}

/// The type of messages that a scheme does not have: client keys, client state, tickets.
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

/// Added to the number of a ticket, this is the number of the query whose key was sent ahead with
/// that ticket. Tickets have smaller numbers.
pub const SENT_AHEAD: u64 = 1 << 63;

/// The error of a scheme whose clients send nothing ahead.
pub(super) fn nothing_ahead(scheme: &'static str) -> Error {
    Error::Parameters {
        scheme,
        reason: "its clients send nothing ahead".to_owned(),
    }
}

/// Checks that a scheme supports a query for this number of indices, and that they are in range.
///
/// # Errors
/// [`Error::BatchSize`] or [`Error::IndexOutOfRange`].
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
