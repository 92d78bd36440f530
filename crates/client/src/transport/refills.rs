//! Threads that refill wallets of tokens ahead of need.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::core::{Task, TokenRefill};
use crate::error::Result;

/// The thread that refills a wallet at a later time. Its wait ends when this is dropped.
///
/// It is a thread for the asynchronous client, too: a runtime may run during lookups only, as that
/// of a blocking program does, and would then fetch tokens right beside one.
#[derive(Default)]
pub(crate) struct RefillThread(Mutex<Option<Sender<()>>>);

impl RefillThread {
    /// Starts a thread that runs the task of a refill after its wait. Without a thread, tokens are
    /// fetched when none is left.
    pub(crate) fn start(
        &self,
        refill: TokenRefill,
        run: impl FnOnce(Task<'static, Result<()>>) + Send + 'static,
    ) {
        let TokenRefill { wait, task } = refill;
        let (alive, ended) = channel::<()>();
        let started = thread::Builder::new()
            .name("papir-refill".to_owned())
            .spawn(move || {
                // Nothing is sent: the other end is dropped with the connection.
                if ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    run(task);
                }
            });

        if started.is_ok() {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(alive);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    /// A refill after this time, which holds a handle until it is dropped.
    fn refill(wait: Duration, held: &Arc<()>) -> TokenRefill {
        let held = Arc::clone(held);
        TokenRefill {
            wait,
            task: Task::new(|_| async move {
                drop(held);
                Ok(())
            }),
        }
    }

    #[test]
    fn a_refill_runs_after_its_wait() {
        let (done, outcome) = channel();
        let thread = RefillThread::default();
        let held = Arc::new(());
        let wait = Duration::from_millis(10);
        thread.start(refill(wait, &held), move |task| {
            drop(task);
            done.send(()).unwrap();
        });
        outcome.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn the_wait_ends_with_its_owner() {
        let (done, outcome) = channel::<()>();
        let thread = RefillThread::default();
        let held = Arc::new(());
        let wait = Duration::from_secs(3600);
        thread.start(refill(wait, &held), move |_| {
            done.send(()).unwrap();
        });
        assert_eq!(Arc::strong_count(&held), 2);

        drop(thread);
        let ended = outcome.recv_timeout(Duration::from_secs(60));
        assert_eq!(ended, Err(RecvTimeoutError::Disconnected), "it never ran");
    }
}
