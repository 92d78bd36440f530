//! Gates that admit one task of a process at a time to a slot's lock.
//!
//! A task holds the lock during steps that need a blocking thread. If other tasks waited for the
//! lock on blocking threads, they could occupy all of these threads, and the holder would wait for
//! ever.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::core::{StoreLock, StoreRequest, Stored};
use crate::error::Result;
use crate::state::ClientState;

/// The gates of slots that are in use, by the slots' locations.
static GATES: LazyLock<Mutex<HashMap<PathBuf, Weak<AsyncMutex<()>>>>> =
    LazyLock::new(Mutex::default);

/// Permission to wait for a slot's lock on a blocking thread, and to hold it.
pub(super) struct Gate(Option<OwnedMutexGuard<()>>);

impl Gate {
    /// Waits until no other task of this process holds the lock that the request takes, or waits
    /// for it on a blocking thread. Returns at once for a request that takes no lock.
    pub(super) async fn enter(state: &ClientState, request: &StoreRequest) -> Self {
        if !request.action.takes_lock() {
            return Self(None);
        }
        Self(Some(gate(state.location(&request.slot)).lock_owned().await))
    }

    /// Performs the request on this thread. If it takes a lock, the gate stays closed until the
    /// lock is released.
    pub(super) fn perform(self, state: &ClientState, request: StoreRequest) -> Result<Stored> {
        match (state.perform(request)?, self.0) {
            (Stored::Locked(lock), Some(gate)) => {
                let place = lock.place();
                Ok(Stored::Locked(StoreLock::new((lock, gate)).at(place)))
            }
            (stored, _) => Ok(stored),
        }
    }
}

/// The gate of the slot at this location.
fn gate(location: PathBuf) -> Arc<AsyncMutex<()>> {
    let mut gates = GATES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(gate) = gates.get(&location).and_then(Weak::upgrade) {
        return gate;
    }

    gates.retain(|_, gate| gate.strong_count() > 0);
    let gate = Arc::default();
    gates.insert(location, Arc::downgrade(&gate));
    gate
}
