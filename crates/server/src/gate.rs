//! How many requests may be in the house, and the threads that answer them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::Error;
use crate::protection::Account;

/// Longest wait that a refused client is advised to take, in seconds.
const LONGEST_ADVICE: u64 = 60;

/// Bounds what runs and what waits; owns the threads that answer.
pub(crate) struct Gate {
    pool: rayon::ThreadPool,
    places: Arc<Semaphore>,
    running: Arc<Semaphore>,
    capacity: usize,
    max_concurrent: usize,
    last_run_ms: Arc<AtomicU64>,
}

/// A place in the house, and the client's own account: given back when dropped.
pub(crate) struct Admission {
    _place: OwnedSemaphorePermit,
    _account: Option<Account>,
}

impl Admission {
    /// The same place on a client's account, which is open as long as the place is taken: going away
    /// does not let a client have more running than it may.
    pub(crate) fn on(self, account: Account) -> Self {
        Self { _account: Some(account), ..self }
    }
}

/// How many have a place.
pub(crate) struct Load {
    /// Uploading or waiting for their turn.
    pub(crate) queued: usize,
    /// Being answered.
    pub(crate) running: usize,
}

/// Why a job has no result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum JobError {
    /// It panicked, with this message.
    Panicked(String),
    /// The threads are gone.
    Stopped,
}

impl Gate {
    /// `threads` threads (0: one a core) for `max_concurrent` jobs at a time, `max_queued` more waiting.
    pub(crate) fn new(threads: usize, max_concurrent: usize, max_queued: usize) -> Result<Self, Error> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("papir-answer-{index}"))
            .build()
            .map_err(|source| Error::Threads { threads, source })?;
        let max_concurrent = max_concurrent.clamp(1, Semaphore::MAX_PERMITS / 2);
        let capacity = max_concurrent + max_queued.min(Semaphore::MAX_PERMITS / 2);
        Ok(Self {
            pool,
            places: Arc::new(Semaphore::new(capacity)),
            running: Arc::new(Semaphore::new(max_concurrent)),
            capacity,
            max_concurrent,
            last_run_ms: Arc::new(AtomicU64::new(0)),
        })
    }

    /// A place, or after how long to ask again.
    pub(crate) fn admit(&self) -> Result<Admission, Duration> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| self.advice())?;
        Ok(Admission { _place: place, _account: None })
    }

    /// How many have a place at the moment.
    pub(crate) fn load(&self) -> Load {
        // In this order: a job gives both back at once, and may do so in between.
        let running = self.max_concurrent - self.running.available_permits();
        let inside = self.capacity - self.places.available_permits();
        Load { queued: inside.saturating_sub(running), running }
    }

    /// Whether nobody has a place.
    pub(crate) fn is_idle(&self) -> bool {
        self.places.available_permits() == self.capacity
    }

    /// Whether any job runs; one that waits for its turn does so only while others run.
    pub(crate) fn is_answering(&self) -> bool {
        self.running.available_permits() < self.max_concurrent
    }

    /// Runs a job on the answering threads when its turn comes. Once begun, it runs to its end even
    /// when the caller goes away, and keeps its place until then.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        admission: Admission,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JobError> {
        let turn = Arc::clone(&self.running).acquire_owned().await.map_err(|_| JobError::Stopped)?;
        let (send, receive) = oneshot::channel();
        let last_run_ms = Arc::clone(&self.last_run_ms);
        self.pool.spawn(move || {
            let start = Instant::now();
            let result =
                catch_unwind(AssertUnwindSafe(job)).map_err(|panic| JobError::Panicked(text(&*panic)));
            last_run_ms.store(start.elapsed().as_millis() as u64, Ordering::Relaxed);
            drop((turn, admission));
            // The receiver is gone when the client is: nobody wants the result then.
            let _ = send.send(result);
        });
        receive.await.unwrap_or(Err(JobError::Stopped))
    }

    /// The time in which the waiting requests are worked off, from the last one's time.
    pub(crate) fn advice(&self) -> Duration {
        let rounds = self.capacity.div_ceil(self.max_concurrent) as u64;
        let wait_ms = self.last_run_ms.load(Ordering::Relaxed).saturating_mul(rounds);
        Duration::from_secs(wait_ms.div_ceil(1000).clamp(1, LONGEST_ADVICE))
    }
}

fn text(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panicking_job_is_an_error_and_frees_its_place() {
        let gate = Gate::new(1, 1, 0).unwrap();
        let result = gate.run(gate.admit().unwrap(), || -> u8 { panic!("on purpose") }).await;
        assert_eq!(result, Err(JobError::Panicked("on purpose".into())));
        assert!(gate.is_idle());
        assert_eq!(gate.run(gate.admit().unwrap(), || 7).await, Ok(7));
    }

    #[tokio::test]
    async fn one_more_than_fits_is_refused_with_advice() {
        let gate = Gate::new(1, 1, 1).unwrap();
        let (first, second) = (gate.admit().unwrap(), gate.admit().unwrap());
        assert_eq!(gate.admit().map(drop), Err(Duration::from_secs(1)));
        drop(first);
        assert!(gate.admit().is_ok());
        drop(second);
        gate.last_run_ms.store(2500, Ordering::Relaxed);
        assert_eq!(gate.advice(), Duration::from_secs(5));
    }

    #[tokio::test]
    async fn an_abandoned_job_ends_and_frees_its_place() {
        let gate = Arc::new(Gate::new(1, 1, 1).unwrap());
        let (release, wait) = std::sync::mpsc::channel::<()>();
        let running = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.run(gate.admit().unwrap(), move || wait.recv()).await }
        });
        while gate.running.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        running.abort();
        let _ = running.await;
        assert!(!gate.is_idle());
        release.send(()).unwrap();
        assert!(matches!(gate.run(gate.admit().unwrap(), || ()).await, Ok(())));
        assert!(gate.is_idle());
    }
}
