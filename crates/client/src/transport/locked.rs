//! A storage with a held lock, for tests of both transports.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use zeroize::Zeroizing;

use super::options::Options;
use crate::core::{StoreAction, StoreLock, StoreRequest, Task};
use crate::error::{Error, Result};
use crate::state::{StateEntry, StateStorage};

/// A storage whose lock another process seems to have. Once it is free, every wait for it ends.
#[derive(Debug, Default)]
pub(crate) struct LockedStorage {
    is_free: Mutex<bool>,
    freed: Condvar,
    /// Number of locks that waiting callers have taken.
    taken: Mutex<usize>,
    released: Arc<Released>,
}

/// The number of released locks.
#[derive(Debug, Default)]
struct Released {
    count: Mutex<usize>,
    changed: Condvar,
}

/// A lock of the storage.
struct CountedLock(Arc<Released>);

impl Drop for CountedLock {
    fn drop(&mut self) {
        *self.0.count.lock().unwrap() += 1;
        self.0.changed.notify_all();
    }
}

impl LockedStorage {
    /// Options with this storage and no timeout.
    pub(crate) fn patient(self: &Arc<Self>) -> Options {
        Options {
            storage: Some(Arc::clone(self) as _),
            ..Options::default()
        }
    }

    /// Options with this storage and a timeout of 100 ms.
    pub(crate) fn options(self: &Arc<Self>) -> Options {
        Options {
            timeout: Some(Duration::from_millis(100)),
            ..self.patient()
        }
    }

    /// Frees the lock, waits until a waiting caller has taken and released it, and checks that it
    /// was only one.
    pub(crate) fn is_released_once_free(&self) {
        *self.is_free.lock().unwrap() = true;
        self.freed.notify_all();

        let count = self.released.count.lock().unwrap();
        let released = &self.released.changed;
        drop(released.wait_while(count, |count| *count == 0).unwrap());
        assert_eq!(*self.taken.lock().unwrap(), 1);
    }
}

impl StateStorage for LockedStorage {
    fn lock(&self, _: &str) -> Result<StoreLock> {
        let is_free = self.is_free.lock().unwrap();
        drop(self.freed.wait_while(is_free, |is_free| !*is_free).unwrap());
        *self.taken.lock().unwrap() += 1;
        Ok(StoreLock::new(CountedLock(Arc::clone(&self.released))))
    }

    fn read(&self, _: &str, _: StateEntry, _: u64) -> Result<Option<Zeroizing<Vec<u8>>>> {
        Ok(None)
    }

    fn replace(&self, _: &str, _: StateEntry, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn remove(&self, _: &str, _: StateEntry) -> Result<()> {
        Ok(())
    }
}

/// A task that takes the storage's lock.
pub(crate) fn locking() -> Task<'static, Result<()>> {
    Task::new(|io| async move {
        let request = StoreRequest {
            slot: "slot".to_owned(),
            action: StoreAction::Lock,
        };
        io.store(request).await.map(drop)
    })
}

/// Checks that [`locking`] timed out.
pub(crate) fn assert_timed_out(outcome: &Result<()>) {
    assert!(
        matches!(outcome, Err(Error::TimedOut { reason: None, .. })),
        "{outcome:?}"
    );
}
