//! How many requests may be in the house, who of them is answered together, and the threads that
//! answer them. `line` holds those that wait.

mod line;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::Error;
use crate::protection::Account;
pub(crate) use line::Kin;
use line::Line;

/// Longest wait that a refused client is advised to take, in seconds.
const LONGEST_ADVICE: u64 = 60;

/// What is answered on the threads, together with its kin.
pub(crate) trait Work: Kin + Send + 'static {
    /// What comes of it.
    type Answer: Send + 'static;

    /// Answers a group, in its order.
    fn answer(group: Vec<Self>) -> Vec<Self::Answer>;
}

/// Bounds what runs and what waits; owns the threads that answer.
///
/// Whoever comes while nobody of its family is answered and threads are free is answered at once. The
/// others wait, and are answered together when threads are free again.
pub(crate) struct Gate<W: Work> {
    house: Arc<House<W>>,
    places: Arc<Semaphore>,
    capacity: usize,
    /// Shared with those that are to be answered, from before they wait.
    begun: Arc<()>,
}

/// What the threads share with those that wait.
struct House<W: Work> {
    /// One for each group that is answered at a time: in a pool that groups share, a thread that waits
    /// for the rest of one begins another, and the first waits for the whole of the second.
    pools: Vec<rayon::ThreadPool>,
    turns: Mutex<Turns<W>>,
    /// The time of the last group by its members.
    last_share_ms: AtomicU64,
}

/// Who waits and who is answered.
struct Turns<W: Work> {
    line: Line<Waiting<W>>,
    /// The pools without a group.
    free: Vec<usize>,
    /// The families of the groups that are being answered.
    busy: Vec<usize>,
    /// Members of these groups.
    running: usize,
}

/// Work with its place, and where its answer goes.
struct Waiting<W: Work> {
    work: W,
    admission: Admission,
    send: oneshot::Sender<Result<W::Answer, JobError>>,
}

/// A place in the house, and the client's own account: given back when dropped.
pub(crate) struct Admission {
    _place: OwnedSemaphorePermit,
    _account: Option<Account>,
    _begun: Option<Arc<()>>,
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
    /// Of these, those that wait for their turn.
    pub(crate) waiting: usize,
    /// Being answered.
    pub(crate) running: usize,
}

/// Why a job has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JobError {
    /// It panicked, with this message.
    Panicked(String),
    /// The threads are gone.
    Stopped,
}

/// Runs something that may panic.
pub(crate) fn caught<T>(job: impl FnOnce() -> T) -> Result<T, JobError> {
    catch_unwind(AssertUnwindSafe(job)).map_err(|panic| JobError::Panicked(text(&*panic)))
}

impl<W: Work> Gate<W> {
    /// `threads` threads (0: one a core) for each of `max_concurrent` groups at a time, of `families` at
    /// most; places for as many as these and `max_queued` more.
    pub(crate) fn new(
        threads: usize,
        (max_concurrent, families): (usize, usize),
        max_queued: usize,
    ) -> Result<Self, Error> {
        let max_concurrent = max_concurrent.clamp(1, Semaphore::MAX_PERMITS / 2);
        let capacity = max_concurrent + max_queued.min(Semaphore::MAX_PERMITS / 2);
        let groups = max_concurrent.min(families.max(1));
        let pools = (0..groups).map(|_| pool(threads)).collect::<Result<_, _>>()?;
        let (free, busy) = ((0..groups).collect(), Vec::new());
        let turns = Mutex::new(Turns { line: Line::default(), free, busy, running: 0 });
        let house = House { pools, turns, last_share_ms: AtomicU64::new(0) };
        let places = Arc::new(Semaphore::new(capacity));
        Ok(Self { house: Arc::new(house), places, capacity, begun: Arc::default() })
    }

    /// A place, or after how long to ask again.
    pub(crate) fn admit(&self) -> Result<Admission, Duration> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| self.advice())?;
        Ok(Admission { _place: place, _account: None, _begun: None })
    }

    /// How many have a place at the moment.
    pub(crate) fn load(&self) -> Load {
        // In this order: one that is answered gives both back at once, and may do so in between.
        let turns = self.house.turns();
        let (running, waiting) = (turns.running, turns.line.len());
        drop(turns);
        let inside = self.capacity - self.places.available_permits();
        Load { queued: inside.saturating_sub(running), waiting, running }
    }

    /// Whether nobody has a place.
    pub(crate) fn is_idle(&self) -> bool {
        self.places.available_permits() == self.capacity
    }

    /// The place of one that is to be answered: whatever has time waits until it is.
    pub(crate) fn begin(&self, admission: Admission) -> Admission {
        Admission { _begun: Some(Arc::clone(&self.begun)), ..admission }
    }

    /// Whether anything is being answered, or is to be.
    pub(crate) fn is_answering(&self) -> bool {
        Arc::strong_count(&self.begun) > 1
    }

    /// Has work answered on the threads when its turn comes. Once begun, it runs to its end even when
    /// the caller goes away, and keeps its place until then; before, it is given up with its place.
    pub(crate) async fn run(&self, admission: Admission, work: W) -> Result<W::Answer, JobError> {
        let (admission, (send, receive)) = (self.begin(admission), oneshot::channel());
        let number = self.house.enter(Waiting { work, admission, send });
        let _leaving = Leaving { house: &self.house, number };
        receive.await.unwrap_or(Err(JobError::Stopped))
    }

    /// The time in which the waiting requests are worked off, from what the last ones took.
    pub(crate) fn advice(&self) -> Duration {
        let rounds = self.capacity.div_ceil(self.house.pools.len()) as u64;
        let wait_ms = self.house.last_share_ms.load(Ordering::Relaxed).saturating_mul(rounds);
        Duration::from_secs(wait_ms.div_ceil(1000).clamp(1, LONGEST_ADVICE))
    }
}

impl<W: Work> House<W> {
    fn turns(&self) -> MutexGuard<'_, Turns<W>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins the line, and begins where threads are free. Gives the number in the line.
    fn enter(self: &Arc<Self>, waiting: Waiting<W>) -> u64 {
        let mut turns = self.turns();
        let number = turns.line.join(waiting);
        self.begin(&mut turns);
        number
    }

    /// Begins groups as long as threads are free and anybody waits whose family has its turn.
    fn begin(self: &Arc<Self>, turns: &mut Turns<W>) {
        while let Some(&place) = turns.free.last() {
            let Some((family, group)) = turns.line.take(&turns.busy) else {
                return;
            };
            turns.free.pop();
            turns.busy.push(family);
            turns.running += group.len();
            let house = Arc::clone(self);
            self.pools[place].spawn(move || house.answer(place, family, group));
        }
    }

    /// Answers a group, and begins what can begin after it.
    fn answer(self: &Arc<Self>, place: usize, family: usize, group: Vec<Waiting<W>>) {
        let (start, count) = (Instant::now(), group.len());
        let split = |Waiting { work, admission, send }| (work, (admission, send));
        let (work, callers): (Vec<W>, Vec<_>) = group.into_iter().map(split).unzip();
        let answers = caught(|| W::answer(work));
        let share = start.elapsed().as_millis() as u64 / count.max(1) as u64;
        self.last_share_ms.store(share, Ordering::Relaxed);
        self.turns().running -= count;
        tell(answers, callers);
        let mut turns = self.turns();
        turns.busy.retain(|busy| *busy != family);
        turns.free.push(place);
        self.begin(&mut turns);
    }
}

pub(crate) fn pool(threads: usize) -> Result<rayon::ThreadPool, Error> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("papir-answer-{index}"))
        .build()
        .map_err(|source| Error::Threads { threads, source })
}

/// Gives the places back, then each caller its answer.
fn tell<T>(
    answers: Result<Vec<T>, JobError>,
    callers: Vec<(Admission, oneshot::Sender<Result<T, JobError>>)>,
) {
    let mut answers = match answers {
        Ok(answers) => answers.into_iter().map(Ok).collect(),
        Err(error) => Vec::from_iter((0..callers.len()).map(|_| Err(error.clone()))),
    }
    .into_iter();
    for (admission, send) in callers {
        drop(admission);
        // The receiver is gone when the client is: nobody wants the answer then.
        let _ = send.send(answers.next().unwrap_or(Err(JobError::Stopped)));
    }
}

impl<W: Work> Kin for Waiting<W> {
    fn family(&self) -> usize {
        self.work.family()
    }

    fn fits<'a>(&'a self, group: impl Iterator<Item = &'a Self>) -> bool {
        self.work.fits(group.map(|one| &one.work))
    }
}

/// Takes a caller that goes away out of the line.
struct Leaving<'a, W: Work> {
    house: &'a House<W>,
    number: u64,
}

impl<W: Work> Drop for Leaving<'_, W> {
    fn drop(&mut self) {
        let left = self.house.turns().line.leave(self.number);
        // Outside of the lock: its place and its bytes go with it.
        drop(left);
    }
}

fn text(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Work of one kind that gives the size of its group, once it may.
    struct Task(Option<mpsc::Receiver<()>>);

    impl Kin for Task {
        fn family(&self) -> usize {
            7
        }

        fn fits<'a>(&'a self, group: impl Iterator<Item = &'a Self>) -> bool {
            group.count() < 3
        }
    }

    impl Work for Task {
        type Answer = usize;

        fn answer(group: Vec<Self>) -> Vec<usize> {
            for task in &group {
                task.0.iter().for_each(|wait| wait.recv().unwrap_or_else(|_| panic!("on purpose")));
            }
            vec![group.len(); group.len()]
        }
    }

    const FREE: Task = Task(None);

    /// A task that waits, or panics when the sender is dropped.
    fn held() -> (mpsc::Sender<()>, Task) {
        let (release, wait) = mpsc::channel();
        (release, Task(Some(wait)))
    }

    fn spawn(gate: &Arc<Gate<Task>>, task: Task) -> tokio::task::JoinHandle<Result<usize, JobError>> {
        let (gate, place) = (Arc::clone(gate), gate.admit().unwrap());
        tokio::spawn(async move { gate.run(place, task).await })
    }

    /// Waits until so many wait and run.
    async fn until(gate: &Gate<Task>, waiting: usize, running: usize) {
        let load = |gate: &Gate<Task>| (gate.load().waiting, gate.load().running);
        while load(gate) != (waiting, running) {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_panicking_job_is_an_error_and_frees_its_place() {
        let gate = Gate::new(1, (1, 1), 0).unwrap();
        let (release, task) = held();
        drop(release);
        let result = gate.run(gate.admit().unwrap(), task).await;
        assert!(matches!(result, Err(JobError::Panicked(text)) if text.contains("on purpose")));
        assert!(gate.is_idle());
        assert_eq!(gate.run(gate.admit().unwrap(), FREE).await, Ok(1));
    }

    #[tokio::test]
    async fn one_more_than_fits_is_refused_with_advice() {
        let gate = Gate::<Task>::new(1, (1, 1), 1).unwrap();
        let (first, second) = (gate.admit().unwrap(), gate.admit().unwrap());
        assert_eq!(gate.admit().map(drop), Err(Duration::from_secs(1)));
        drop(first);
        assert!(gate.admit().is_ok());
        drop(second);
        gate.house.last_share_ms.store(2500, Ordering::Relaxed);
        assert_eq!(gate.advice(), Duration::from_secs(5));
    }

    #[tokio::test]
    async fn those_that_wait_are_answered_together() {
        let gate = Arc::new(Gate::new(1, (1, 1), 9).unwrap());
        let (release, task) = held();
        let first = spawn(&gate, task);
        until(&gate, 0, 1).await;
        let later: Vec<_> = (0..4).map(|_| spawn(&gate, FREE)).collect();
        until(&gate, 4, 1).await;
        assert_eq!((gate.load().queued, gate.load().running), (4, 1));
        release.send(()).unwrap();
        assert_eq!(first.await.unwrap(), Ok(1), "nobody waited when it came");
        let mut sizes = Vec::new();
        for one in later {
            sizes.push(one.await.unwrap().unwrap());
        }
        assert_eq!(sizes, [3, 3, 3, 1]);
        assert!(gate.is_idle());
    }

    #[tokio::test]
    async fn an_abandoned_job_ends_and_frees_its_place() {
        let gate = Arc::new(Gate::new(1, (1, 1), 1).unwrap());
        let (release, task) = held();
        let running = spawn(&gate, task);
        until(&gate, 0, 1).await;
        running.abort();
        let _ = running.await;
        assert!(!gate.is_idle());
        release.send(()).unwrap();
        assert_eq!(gate.run(gate.admit().unwrap(), FREE).await, Ok(1));
        assert!(gate.is_idle());
    }

    #[tokio::test]
    async fn whoever_goes_away_while_waiting_gives_the_place_back_at_once() {
        let gate = Arc::new(Gate::new(1, (1, 1), 1).unwrap());
        let (release, task) = held();
        let running = spawn(&gate, task);
        until(&gate, 0, 1).await;
        let waiting = spawn(&gate, FREE);
        until(&gate, 1, 1).await;
        assert!(gate.admit().is_err());
        waiting.abort();
        let _ = waiting.await;
        assert!(gate.admit().is_ok());
        release.send(()).unwrap();
        assert_eq!(running.await.unwrap(), Ok(1));
    }
}
