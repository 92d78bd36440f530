//! Values that arrive later, awaited by a thread or by a task.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::core::lookups::FoundValue;
use crate::error::{Error, Result};

/// A submitted lookup that waits for its answer. A thread waits for it with [`Awaited::wait`], and
/// a task awaits it as a future. If it is dropped, the lookup may still be sent.
#[must_use = "the value of the lookup is in here"]
pub struct Awaited(Arc<PromiseCell>);

/// The obligation to deliver a value. If it is dropped, the lookup fails: its schedule has ended.
pub(super) struct Promise(Arc<PromiseCell>);

#[derive(Default)]
struct PromiseCell {
    state: Mutex<PromiseState>,
    arrived: Condvar,
}

#[derive(Default)]
struct PromiseState {
    /// The outcome, until it is taken.
    found: Option<FoundValue>,
    is_delivered: bool,
    waker: Option<Waker>,
}

impl PromiseCell {
    fn state(&self) -> MutexGuard<'_, PromiseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers the first outcome. Later ones are dropped.
    fn deliver(&self, found: FoundValue) {
        let mut state = self.state();
        if state.is_delivered {
            return;
        }
        state.is_delivered = true;
        state.found = Some(found);
        let waker = state.waker.take();

        // Woken without the lock, which the woken thread takes.
        drop(state);
        self.arrived.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Makes a promise, with the lookup that waits for it.
pub(super) fn promise() -> (Promise, Awaited) {
    let shared = Arc::<PromiseCell>::default();
    (Promise(Arc::clone(&shared)), Awaited(shared))
}

impl Promise {
    /// Delivers the outcome of the lookup.
    pub(super) fn keep(self, found: FoundValue) {
        self.0.deliver(found);
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.0.deliver(Err(Error::ScheduleClosed));
    }
}

impl Awaited {
    /// Waits until the lookup's request is answered. Returns its value; `None` for an absent key. A
    /// lookup by index never returns `None`.
    ///
    /// A task awaits the lookup instead: on a thread of the runtime that sends the requests, this
    /// call could wait for itself.
    ///
    /// # Errors
    /// [`Error::ScheduleClosed`] if the schedule ended before the lookup was answered,
    /// [`Error::Shared`] with the error of the request, and the error of this lookup alone, such as
    /// [`papir_core::Error::IndexOutOfRange`].
    pub fn wait(self) -> Result<Option<Vec<u8>>> {
        let mut state = self.0.state();
        loop {
            if let Some(found) = state.found.take() {
                return found;
            }
            state = self
                .0
                .arrived
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Future for Awaited {
    type Output = Result<Option<Vec<u8>>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.state();
        if let Some(found) = state.found.take() {
            return Poll::Ready(found);
        }

        let waker = context.waker().clone();
        // Dropped without the lock: a waker may do anything.
        let before = state.waker.replace(waker);
        drop(state);
        drop(before);
        Poll::Pending
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;
    use std::thread;

    use super::*;

    #[derive(Default)]
    struct WakeCount(AtomicUsize);

    impl Wake for WakeCount {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_thread_waits_for_the_value() {
        let (promise, awaited) = promise();
        let waiting = thread::spawn(move || awaited.wait());
        promise.keep(Ok(Some(vec![7])));
        assert_eq!(waiting.join().unwrap().unwrap(), Some(vec![7]));
    }

    #[test]
    fn a_task_is_woken_once() {
        let (promise, mut awaited) = promise();
        let wakes = Arc::<WakeCount>::default();
        let waker = Waker::from(Arc::clone(&wakes));
        let mut context = Context::from_waker(&waker);
        assert!(Pin::new(&mut awaited).poll(&mut context).is_pending());

        promise.keep(Ok(None));
        assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
        let found = Pin::new(&mut awaited).poll(&mut context);
        assert!(matches!(found, Poll::Ready(Ok(None))));
    }

    #[test]
    fn a_broken_promise_is_an_error() {
        let (promise, awaited) = promise();
        drop(promise);
        assert_eq!(awaited.wait().unwrap_err().code(), "schedule_closed");
    }

    #[test]
    fn a_value_that_nobody_awaits_is_dropped() {
        let (promise, awaited) = promise();
        drop(awaited);
        promise.keep(Ok(Some(vec![7])));
    }
}
