//! Executor: bounds requests and answers them in batches.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::limits::ClientKey;
use super::memory::Relief;
use super::permit::{JobError, Permit};
use super::queue::{Batchable, Queue};
use super::semaphore::FairSemaphore;
use super::turns::{Turn, WorkTurns};
use crate::error::Error;

/// Upper bound on the advised retry delay, in seconds.
const MAX_ADVICE: u64 = 60;
/// Requests that load their clients' keys at the same time.
const LOADING: usize = 8;
/// Requests that take their tickets at the same time. Each holds a thread that waits for the disk,
/// of a runtime that has 512 of them, and others need such threads, too. They share writes to disk.
const TAKING: usize = 128;
/// Largest number of batches that run at the same time, and of requests that wait.
const MAX_REQUESTS: usize = 1 << 20;

/// A request that is answered on the executor's threads, in a batch of equal batch keys.
pub(crate) trait Work: Batchable + Send + 'static {
    /// The result of one request.
    type Answer: Send + 'static;

    /// Answers a batch. Returns one answer per request, in order.
    fn run_batch(batch: Vec<Self>) -> Vec<Self::Answer>;
}

/// Size of an [`Executor`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    /// Threads per batch; 0 means one per core.
    pub(crate) threads: usize,
    /// Batches that run at the same time, at least 1.
    pub(crate) concurrent: usize,
    /// No more batches than this run at the same time; at least the number of distinct batch keys.
    pub(crate) batches: usize,
    /// Requests that may wait in addition to `concurrent`.
    pub(crate) queued: usize,
}

/// Limits waiting and running requests, and owns the threads that answer them.
///
/// A request takes its place when its body is whole. If all places are taken, the client with the
/// most places gives one up to a client with fewer. A request may first wait for its turn to load
/// its client's keys.
///
/// A request starts at once if a thread pool is free and no batch with its key is running.
/// Otherwise it waits, and is answered in a batch when a pool becomes free, or once enough wait for
/// another batch where [`Batchable::batches_at_once`] allows one.
pub(crate) struct Executor<W: Work> {
    shared: Arc<ExecutorState<W>>,
    places: Arc<FairSemaphore>,
    loading: Arc<WorkTurns>,
    taking: Arc<WorkTurns>,
    /// Cloned into the permit of every request that waits for an answer.
    pending: Arc<()>,
}

/// State shared by the executor, its threads and waiting callers.
struct ExecutorState<W: Work> {
    /// One pool per concurrent batch. In a pool shared by batches, a thread that waits for the rest
    /// of one batch would steal work of another, and the first batch would wait for the second.
    pools: Vec<rayon::ThreadPool>,
    schedule: Mutex<ExecutorSchedule<W>>,
    /// Duration of the last batch divided by its requests.
    last_request_ms: AtomicU64,
}

/// Waiting and running requests.
struct ExecutorSchedule<W: Work> {
    queue: Queue<WaitingRequest<W>>,
    /// Indices of idle pools.
    free_pools: Vec<usize>,
    /// Batch keys of the running batches, one for each batch.
    running_keys: Vec<usize>,
    /// Requests in the running batches.
    running: usize,
}

/// A waiting request, its permit and the channel for its answer.
struct WaitingRequest<W: Work> {
    work: W,
    caller: Caller<W::Answer>,
}

/// Receives the answer to one request.
struct Caller<T> {
    permit: Permit,
    send: oneshot::Sender<Result<T, JobError>>,
}

/// Number of requests that hold a permit, by state.
pub(crate) struct Load {
    /// Waiting, or about to.
    pub(crate) queued: usize,
    /// Waiting in the queue; part of `queued`.
    pub(crate) waiting: usize,
    /// Being answered.
    pub(crate) running: usize,
}

/// Reports whether any request is waiting or running, without keeping alive what it belongs to.
#[derive(Clone)]
pub(crate) struct Ongoing(Weak<()>);

impl Ongoing {
    /// The requests that hold a clone of `pending`.
    pub(crate) fn of(pending: &Arc<()>) -> Self {
        Self(Arc::downgrade(pending))
    }

    /// Returns whether any request is waiting or running.
    pub(crate) fn is_active(&self) -> bool {
        // The owner of `pending` itself holds one reference.
        self.0.strong_count() > 1
    }
}

/// Runs `job` and converts a panic into an error.
pub(crate) fn catch_panic<T>(job: impl FnOnce() -> T) -> Result<T, JobError> {
    catch_unwind(AssertUnwindSafe(job)).map_err(|panic| JobError::Panicked(panic_message(&*panic)))
}

impl<W: Work> Executor<W> {
    /// Starts the threads.
    pub(crate) fn new(size: Capacity) -> Result<Self, Error> {
        // Bounded, so that no setting makes the sum overflow. Each pool has threads of its own, so
        // there are no more pools than batches that can run at once.
        let concurrent = size.concurrent.clamp(1, MAX_REQUESTS);
        let capacity = concurrent + size.queued.min(MAX_REQUESTS);
        let batches = concurrent.min(size.batches.max(1));

        let schedule = ExecutorSchedule {
            queue: Queue::default(),
            free_pools: (0..batches).collect(),
            running_keys: Vec::new(),
            running: 0,
        };
        let shared = ExecutorState {
            pools: (0..batches)
                .map(|_| answer_pool(size.threads))
                .collect::<Result<_, _>>()?,
            schedule: Mutex::new(schedule),
            last_request_ms: AtomicU64::new(0),
        };

        let places = FairSemaphore::new(capacity);
        let loading = WorkTurns::of(Arc::clone(&places), LOADING);
        let taking = WorkTurns::of(Arc::clone(&places), TAKING);
        Ok(Self {
            shared: Arc::new(shared),
            places,
            loading,
            taking,
            pending: Arc::default(),
        })
    }

    /// Returns a permit or, if this client must wait for others, the advised retry delay.
    pub(crate) fn admit(&self, client: &ClientKey) -> Result<Permit, Duration> {
        let place = self.places.take_or(client, |heavier| self.shed(heavier));
        place.map(Permit::of).ok_or_else(|| self.retry_after())
    }

    /// Returns the advised retry delay if a request of this client would be refused now, so that it
    /// need not upload its body.
    pub(crate) fn expect_room(&self, client: &ClientKey) -> Result<(), Duration> {
        if self.places.is_full() && !self.places.has_heavier(client) {
            Err(self.retry_after())
        } else {
            Ok(())
        }
    }

    /// Waits for a turn to load a client's keys. Keys are parsed one client at a time, so further
    /// threads would only wait.
    pub(crate) async fn loading(
        &self,
        client: &ClientKey,
        permit: Permit,
    ) -> Result<(Turn, Permit), JobError> {
        self.loading.enter(client, permit).await
    }

    /// Waits for a turn to take the tickets of a client whose keys are in memory.
    pub(crate) async fn taking(
        &self,
        client: &ClientKey,
        permit: Permit,
    ) -> Result<(Turn, Permit), JobError> {
        self.taking.enter(client, permit).await
    }

    /// Refuses the newest waiting request of a client. Returns whether there was one.
    fn shed(&self, client: &ClientKey) -> bool {
        self.shared.shed(client) || self.loading.shed(client) || self.taking.shed(client)
    }

    /// Refuses waiting requests, which free the memory of their bodies.
    pub(crate) fn relief_of_bodies(&self) -> Relief
    where
        W: 'static,
    {
        let shared = Arc::clone(&self.shared);
        let loading = Arc::clone(&self.loading);
        let taking = Arc::clone(&self.taking);
        Box::new(move |client| shared.shed(client) || loading.shed(client) || taking.shed(client))
    }

    /// Refuses queued requests, which free the memory of their answers. Requests that wait for
    /// their clients' keys would not free it at once.
    pub(crate) fn relief_of_answers(&self) -> Relief
    where
        W: 'static,
    {
        let shared = Arc::clone(&self.shared);
        Box::new(move |client| shared.shed(client))
    }

    /// Current load.
    pub(crate) fn load(&self) -> Load {
        // Read the schedule first: a request that ends in between frees its place too, which must
        // not make `queued` too large.
        let schedule = self.shared.schedule();
        let running = schedule.running;
        let waiting = schedule.queue.len();
        drop(schedule);

        Load {
            queued: self.places.taken().saturating_sub(running),
            waiting,
            running,
        }
    }

    /// Returns whether no permit is held.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        self.places.taken() == 0
    }

    /// Marks the permit's request as pending: background work yields until the request is answered.
    pub(crate) fn mark_pending(&self, permit: Permit) -> Permit {
        permit.pending(&self.pending)
    }

    /// A handle that reports whether queries are waiting or running.
    pub(crate) fn activity(&self) -> Ongoing {
        Ongoing::of(&self.pending)
    }

    /// Queues `work` and waits for its answer.
    ///
    /// If the caller is cancelled while the work is queued, the work and its permit are dropped.
    /// Once started, the work runs to its end and keeps its permit until then.
    pub(crate) async fn run(&self, permit: Permit, work: W) -> Result<W::Answer, JobError> {
        let (send, receive) = oneshot::channel();
        let caller = Caller {
            permit: self.mark_pending(permit),
            send,
        };
        let number = self.shared.enqueue(WaitingRequest { work, caller });

        // Dropped with a cancelled caller: nobody would receive the answer, so it is not computed.
        let _dequeue = DequeueOnDrop {
            shared: &self.shared,
            number,
        };
        receive.await.unwrap_or(Err(JobError::Stopped))
    }

    /// Time to answer all waiting requests, estimated from the last batch.
    pub(crate) fn retry_after(&self) -> Duration {
        // As if each pool answered its share of the requests one after the other.
        let rounds = self.places.taken().div_ceil(self.shared.pools.len()) as u64;
        let wait_ms = self
            .shared
            .last_request_ms
            .load(Ordering::Relaxed)
            .saturating_mul(rounds);
        Duration::from_secs(wait_ms.div_ceil(1000).clamp(1, MAX_ADVICE))
    }
}

impl<W: Work> ExecutorState<W> {
    fn schedule(&self) -> MutexGuard<'_, ExecutorSchedule<W>> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses the newest queued request of a client. Returns whether there was one.
    fn shed(&self, client: &ClientKey) -> bool {
        let shed = self.schedule().queue.remove_newest(client);
        let Some(WaitingRequest {
            work,
            caller: Caller { permit, send },
        }) = shed
        else {
            return false;
        };

        // Freed before the caller hears of it, so that it finds its permit free.
        drop((work, permit));
        let _ = send.send(Err(JobError::Shed));
        true
    }

    /// Queues a request and starts batches if pools are free. Returns the request's queue number.
    fn enqueue(self: &Arc<Self>, waiting: WaitingRequest<W>) -> u64 {
        let mut schedule = self.schedule();
        let number = schedule.queue.push(waiting);
        self.start_batches(&mut schedule);
        number
    }

    /// Starts batches while a pool is free and a request waits that may start.
    fn start_batches(self: &Arc<Self>, schedule: &mut ExecutorSchedule<W>) {
        while let Some(&pool) = schedule.free_pools.last() {
            let Some((key, batch)) = schedule.queue.take_batch(&schedule.running_keys) else {
                return;
            };

            // Taken before the batch runs: the next turn of the loop must find neither this pool
            // free nor this key unused.
            schedule.free_pools.pop();
            schedule.running_keys.push(key);
            schedule.running += batch.len();

            let shared = Arc::clone(self);
            self.pools[pool].spawn(move || shared.run_batch(pool, key, batch));
        }
    }

    /// Answers a batch, then starts the batches that can follow it.
    fn run_batch(self: &Arc<Self>, pool: usize, key: usize, batch: Vec<WaitingRequest<W>>) {
        let start = Instant::now();
        let count = batch.len();
        let (work, callers): (Vec<W>, Vec<_>) = batch
            .into_iter()
            .map(|waiting| (waiting.work, waiting.caller))
            .unzip();

        let answers = catch_panic(|| W::run_batch(work));
        let request_ms = start.elapsed().as_millis() as u64 / count.max(1) as u64;
        self.last_request_ms.store(request_ms, Ordering::Relaxed);

        self.schedule().running -= count;
        deliver(answers, callers);

        let mut schedule = self.schedule();
        if let Some(index) = schedule
            .running_keys
            .iter()
            .position(|running| *running == key)
        {
            schedule.running_keys.swap_remove(index);
        }
        schedule.free_pools.push(pool);
        self.start_batches(&mut schedule);
    }
}

/// Builds a pool of answering threads; 0 threads means one per core.
pub(crate) fn answer_pool(threads: usize) -> Result<rayon::ThreadPool, Error> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("papir-answer-{index}"))
        .build()
        .map_err(|source| Error::Threads {
            threads,
            source: Box::new(source),
        })
}

/// Releases each permit, then sends the caller its answer.
///
/// In this order, so that a client that has its answer also finds its permit free.
fn deliver<T>(answers: Result<Vec<T>, JobError>, callers: Vec<Caller<T>>) {
    let answers: Vec<Result<T, JobError>> = match answers {
        Ok(answers) => answers.into_iter().map(Ok).collect(),
        Err(error) => callers.iter().map(|_| Err(error.clone())).collect(),
    };

    let mut answers = answers.into_iter();
    for Caller { permit, send } in callers {
        drop(permit);
        // Sending fails if the client has disconnected. The answer is then dropped.
        let _ = send.send(answers.next().unwrap_or(Err(JobError::Stopped)));
    }
}

impl<W: Work> Batchable for WaitingRequest<W> {
    fn batch_key(&self) -> usize {
        self.work.batch_key()
    }

    fn batches_at_once(&self) -> usize {
        self.work.batches_at_once()
    }

    fn fits<'a>(&'a self, batch: impl Iterator<Item = &'a Self>) -> bool {
        self.work.fits(batch.map(|waiting| &waiting.work))
    }

    fn client(&self) -> &ClientKey {
        self.work.client()
    }
}

/// Removes a cancelled caller's request from the queue.
struct DequeueOnDrop<'a, W: Work> {
    shared: &'a ExecutorState<W>,
    number: u64,
}

impl<W: Work> Drop for DequeueOnDrop<'_, W> {
    fn drop(&mut self) {
        let removed = self.shared.schedule().queue.remove(self.number);
        // Dropped outside the lock: this frees the permit and the request's bytes.
        drop(removed);
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        return (*text).to_owned();
    }
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Work with one batch key that returns the size of its batch once it is released.
    struct Task(Option<mpsc::Receiver<()>>);

    const CLIENT: ClientKey = ClientKey::Local;

    impl Batchable for Task {
        fn batch_key(&self) -> usize {
            7
        }

        fn fits<'a>(&'a self, batch: impl Iterator<Item = &'a Self>) -> bool {
            batch.count() < 3
        }

        fn client(&self) -> &ClientKey {
            &CLIENT
        }
    }

    impl Work for Task {
        type Answer = usize;

        fn run_batch(batch: Vec<Self>) -> Vec<usize> {
            for task in &batch {
                task.0
                    .iter()
                    .for_each(|wait| wait.recv().unwrap_or_else(|_| panic!("on purpose")));
            }
            vec![batch.len(); batch.len()]
        }
    }

    const FREE: Task = Task(None);

    /// One thread, one batch at a time.
    fn size(queued: usize) -> Capacity {
        Capacity {
            threads: 1,
            concurrent: 1,
            batches: 1,
            queued,
        }
    }

    /// A task that waits, or panics when the sender is dropped.
    fn held() -> (mpsc::Sender<()>, Task) {
        let (release, wait) = mpsc::channel();
        (release, Task(Some(wait)))
    }

    fn spawn(
        executor: &Arc<Executor<Task>>,
        task: Task,
    ) -> tokio::task::JoinHandle<Result<usize, JobError>> {
        let (executor, permit) = (Arc::clone(executor), executor.admit(&CLIENT).unwrap());
        tokio::spawn(async move { executor.run(permit, task).await })
    }

    /// Waits until these numbers of requests wait and run.
    async fn until(executor: &Executor<Task>, waiting: usize, running: usize) {
        let load = |executor: &Executor<Task>| (executor.load().waiting, executor.load().running);
        let start = Instant::now();
        while load(executor) != (waiting, running) {
            assert!(
                start.elapsed() < Duration::from_secs(90),
                "not {waiting} and {running} in 90 s"
            );
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_panicking_job_fails_and_frees_its_permit() {
        let executor = Executor::new(size(0)).unwrap();
        let (release, task) = held();
        drop(release);

        let result = executor.run(executor.admit(&CLIENT).unwrap(), task).await;
        assert!(matches!(result, Err(JobError::Panicked(text)) if text.contains("on purpose")));

        assert!(executor.is_idle());
        assert_eq!(
            executor.run(executor.admit(&CLIENT).unwrap(), FREE).await,
            Ok(1)
        );
    }

    #[tokio::test]
    async fn a_request_beyond_capacity_is_refused_with_a_retry_delay() {
        let executor = Executor::<Task>::new(size(1)).unwrap();
        let first = executor.admit(&CLIENT).unwrap();
        let second = executor.admit(&CLIENT).unwrap();

        assert_eq!(
            executor.admit(&CLIENT).map(drop),
            Err(Duration::from_secs(1))
        );
        assert_eq!(executor.expect_room(&CLIENT), Err(Duration::from_secs(1)));
        executor
            .shared
            .last_request_ms
            .store(2500, Ordering::Relaxed);
        assert_eq!(executor.retry_after(), Duration::from_secs(5));

        drop(first);
        assert!(executor.admit(&CLIENT).is_ok());
        drop(second);
    }

    #[tokio::test]
    async fn waiting_requests_are_answered_in_a_batch() {
        let executor = Arc::new(Executor::new(size(9)).unwrap());
        let (release, task) = held();
        let first = spawn(&executor, task);
        until(&executor, 0, 1).await;

        let later: Vec<_> = (0..4).map(|_| spawn(&executor, FREE)).collect();
        until(&executor, 4, 1).await;
        assert_eq!((executor.load().queued, executor.load().running), (4, 1));

        release.send(()).unwrap();
        assert_eq!(
            first.await.unwrap(),
            Ok(1),
            "the queue was empty when it arrived"
        );

        let mut sizes = Vec::new();
        for one in later {
            sizes.push(one.await.unwrap().unwrap());
        }
        assert_eq!(sizes, [3, 3, 3, 1]);
        assert!(executor.is_idle());
    }

    #[tokio::test]
    async fn a_client_with_many_waiting_requests_makes_room_for_others() {
        let executor = Arc::new(Executor::new(size(2)).unwrap());
        let (release, task) = held();
        let running = spawn(&executor, task);
        until(&executor, 0, 1).await;

        let waiting: Vec<_> = (0..2).map(|_| spawn(&executor, FREE)).collect();
        until(&executor, 2, 1).await;

        assert!(executor.admit(&CLIENT).is_err());
        let other = ClientKey::Others;
        assert_eq!(executor.expect_room(&other), Ok(()));
        let _permit = executor.admit(&other).unwrap();
        until(&executor, 1, 1).await;
        assert!(
            executor.admit(&other).is_err(),
            "both clients hold as many now"
        );

        release.send(()).unwrap();
        assert_eq!(running.await.unwrap(), Ok(1));

        let mut outcomes = Vec::new();
        for one in waiting {
            outcomes.push(one.await.unwrap());
        }
        assert_eq!(outcomes, [Ok(1), Err(JobError::Shed)]);
    }

    #[tokio::test]
    async fn a_flood_of_sessions_makes_room_for_others() {
        let executor = Arc::new(Executor::<Task>::new(size(LOADING + 1)).unwrap());
        let load = || {
            let (executor, permit) = (Arc::clone(&executor), executor.admit(&CLIENT).unwrap());
            tokio::spawn(async move { executor.loading(&CLIENT, permit).await })
        };

        let mut flood: Vec<_> = (0..LOADING + 2).map(|_| load()).collect();
        tokio::task::yield_now().await;
        assert!(executor.admit(&CLIENT).is_err());
        let _permit = executor.admit(&ClientKey::Others).unwrap();

        let newest = flood.pop().unwrap();
        assert_eq!(newest.await.unwrap().map(drop), Err(JobError::Shed));

        let waiting = flood.pop().unwrap();
        assert!(!waiting.is_finished());
        drop(flood.pop().unwrap().await.unwrap().unwrap());
        assert!(waiting.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn a_flood_of_tickets_makes_room_for_others() {
        let executor = Arc::new(Executor::<Task>::new(size(TAKING)).unwrap());
        let mut taken = Vec::new();
        for _ in 0..TAKING {
            let permit = executor.admit(&CLIENT).unwrap();
            taken.push(executor.taking(&CLIENT, permit).await.unwrap());
        }

        // One request waits for its turn, and none has a place any more.
        let flood = Arc::clone(&executor);
        let permit = executor.admit(&CLIENT).unwrap();
        let waiting = tokio::spawn(async move { flood.taking(&CLIENT, permit).await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());

        let _permit = executor.admit(&ClientKey::Others).unwrap();
        assert_eq!(waiting.await.unwrap().map(drop), Err(JobError::Shed));
    }

    #[tokio::test]
    async fn a_started_job_of_a_cancelled_caller_runs_to_its_end_and_frees_its_permit() {
        let executor = Arc::new(Executor::new(size(1)).unwrap());
        let (release, task) = held();
        let running = spawn(&executor, task);
        until(&executor, 0, 1).await;

        running.abort();
        let _ = running.await;
        assert!(!executor.is_idle());

        release.send(()).unwrap();
        assert_eq!(
            executor.run(executor.admit(&CLIENT).unwrap(), FREE).await,
            Ok(1)
        );
        assert!(executor.is_idle());
    }

    #[tokio::test]
    async fn a_cancelled_caller_in_the_queue_frees_its_permit_at_once() {
        let executor = Arc::new(Executor::new(size(1)).unwrap());
        let (release, task) = held();
        let running = spawn(&executor, task);
        until(&executor, 0, 1).await;

        let waiting = spawn(&executor, FREE);
        until(&executor, 1, 1).await;
        assert!(executor.admit(&CLIENT).is_err());

        waiting.abort();
        let _ = waiting.await;
        assert!(executor.admit(&CLIENT).is_ok());

        release.send(()).unwrap();
        assert_eq!(running.await.unwrap(), Ok(1));
    }
}
