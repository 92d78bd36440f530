//! Permission for a request to wait and be answered.

use std::sync::Arc;

use super::limiter::ClientSlot;
use super::memory::HeldBytes;
use super::semaphore::TakenAmount;

/// Permission for a request to wait and be answered. Released when dropped.
pub(crate) struct Permit {
    _place: TakenAmount,
    held: Option<HeldRequest>,
    _pending: Option<Arc<()>>,
}

/// Resources of a permit besides its place.
struct HeldRequest {
    _client: ClientSlot,
    body: HeldBytes,
}

impl Permit {
    /// A permit for a place.
    pub(super) fn of(place: TakenAmount) -> Self {
        Self {
            _place: place,
            held: None,
            _pending: None,
        }
    }

    /// Holds the client's slot and the memory of the body as long as the permit. A client that
    /// disconnects therefore cannot exceed its limits.
    pub(crate) fn holding(self, client: ClientSlot, body: HeldBytes) -> Self {
        let held = HeldRequest {
            _client: client,
            body,
        };
        Self {
            held: Some(held),
            ..self
        }
    }

    /// Releases the place, and returns the memory of the body; `None` without one.
    pub(crate) fn into_body(self) -> Option<HeldBytes> {
        self.held.map(|held| held.body)
    }

    /// Holds a clone of `pending` as long as the permit.
    pub(super) fn pending(self, pending: &Arc<()>) -> Self {
        Self {
            _pending: Some(Arc::clone(pending)),
            ..self
        }
    }
}

/// Reason for a job without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JobError {
    /// The job panicked with this message.
    #[error("panicked")]
    Panicked(String),
    /// The threads are gone.
    #[error("stopped")]
    Stopped,
    /// The request gave up its place to a client with fewer.
    #[error("shed")]
    Shed,
}
