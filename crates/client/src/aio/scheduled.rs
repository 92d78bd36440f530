//! Scheduled lookups over an asynchronous connection.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};

use super::connection::Connection;
use crate::core::{Costs, FoundValue, Schedule, ScheduleRunner, Scheduled, ScheduledBatch};
use crate::error::{Error, Result};
use crate::rng::system_rng;

impl Connection {
    /// Starts a schedule on a task of the current runtime, which takes over the connection. A
    /// scheme with client keys registers at once, and masks are decrypted between the slots. The
    /// end of the runtime closes the schedule.
    ///
    /// Code that blocks the threads of the runtime delays requests.
    ///
    /// Lookups over a clone of the connection are requests of their own, at the time of the call.
    ///
    /// # Errors
    /// The errors of [`Schedule::start`], and [`Error::Schedule`] outside of a runtime.
    pub fn schedule(mut self, schedule: Schedule) -> Result<Scheduled> {
        let runtime = Handle::try_current().map_err(|error| Error::Schedule {
            reason: error.to_string(),
        })?;
        let (scheduled, runner) = schedule.start(self.info(), self.lookup())?;
        self.begin_schedule();
        runtime.spawn(run(self, runner));
        Ok(scheduled)
    }
}

/// The calls of a connection that a schedule makes.
trait ScheduledCalls: Send {
    /// Number of records of the database.
    fn records(&self) -> u64;

    /// The costs since the connection was opened.
    fn costs(&self) -> Costs;

    /// Does in advance the work for this number of lookups.
    fn prepare(&mut self, lookups: usize) -> impl Future<Output = ()> + Send;

    /// Sends the lookups of a batch. Returns their outcomes.
    fn look_up(
        &mut self,
        batch: &ScheduledBatch,
    ) -> impl Future<Output = Result<Vec<FoundValue>>> + Send;
}

impl ScheduledCalls for Connection {
    fn records(&self) -> u64 {
        self.lookup().describe().shape.records()
    }

    fn costs(&self) -> Costs {
        Self::costs(self)
    }

    async fn prepare(&mut self, lookups: usize) {
        // The next request meets the same error, and reports it.
        let _ = self.prepare_ahead(lookups).await;
    }

    async fn look_up(&mut self, batch: &ScheduledBatch) -> Result<Vec<FoundValue>> {
        self.get_each(&batch.wanted()).await
    }
}

/// Sends one request in each slot until the schedule is closed.
async fn run(mut connection: impl ScheduledCalls, runner: ScheduleRunner) {
    let start = Instant::now();
    let mut slots = runner.slots(Duration::ZERO);

    loop {
        connection.prepare(runner.batch()).await;
        runner.set_costs(connection.costs());

        let slot = slots.next(start.elapsed());
        if is_closed_before(start.checked_add(slot.at), &runner).await {
            return;
        }

        // Goes on after an error, whatever it is: the server may have caused it, and an end would
        // tell the server that the lookup failed.
        let batch = runner.draw(connection.records(), &mut system_rng());
        let found = connection.look_up(&batch).await;
        runner.set_costs(connection.costs());
        batch.answer(found);
    }
}

/// Waits until a time, or until the schedule is closed. Returns true if it is closed. `None` is a
/// time that the clock does not reach.
async fn is_closed_before(time: Option<Instant>, runner: &ScheduleRunner) -> bool {
    let Some(time) = time else {
        runner.closed().await;
        return true;
    };
    timeout_at(time, runner.closed()).await.is_ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::runtime::Builder;
    use tokio::time::sleep;

    use super::*;

    const SCHEDULE: Schedule = Schedule {
        every: Duration::from_secs(10),
        batch: 3,
    };
    /// The duration of a request that fails, in seconds.
    const FAILING: u64 = 55;

    /// A connection whose requests take a time each, and fail if they take [`FAILING`] seconds.
    struct FakeConnection {
        start: Instant,
        durations: Vec<u64>,
        /// Seconds since the start, and numbers of lookups, of the requests.
        requests: Arc<Mutex<Vec<(u64, usize)>>>,
    }

    impl ScheduledCalls for FakeConnection {
        fn records(&self) -> u64 {
            100
        }

        fn costs(&self) -> Costs {
            Costs::default()
        }

        async fn prepare(&mut self, lookups: usize) {
            assert_eq!(lookups, SCHEDULE.batch);
        }

        async fn look_up(&mut self, batch: &ScheduledBatch) -> Result<Vec<FoundValue>> {
            let indices = batch.indices().to_vec();
            let time = self.start.elapsed().as_secs();
            self.requests.lock().unwrap().push((time, indices.len()));

            let seconds = self.durations.pop().unwrap_or(1);
            sleep(Duration::from_secs(seconds)).await;
            if seconds == FAILING {
                return Err(Error::BadToken);
            }
            Ok(indices
                .iter()
                .map(|index| Ok(Some(index.to_le_bytes().to_vec())))
                .collect())
        }
    }

    /// The end of a running schedule that its user holds, and the requests that are sent.
    struct FakeSchedule {
        scheduled: Scheduled,
        requests: Arc<Mutex<Vec<(u64, usize)>>>,
    }

    impl FakeSchedule {
        /// Starts a schedule whose first requests take these times, in seconds.
        fn start(durations: &[u64]) -> Self {
            let (scheduled, runner) = SCHEDULE.start_without_database();
            let requests = Arc::default();
            let connection = FakeConnection {
                start: Instant::now(),
                durations: durations.iter().rev().copied().collect(),
                requests: Arc::clone(&requests),
            };
            tokio::spawn(run(connection, runner));
            Self {
                scheduled,
                requests,
            }
        }

        fn requests(&self) -> Vec<(u64, usize)> {
            self.requests.lock().unwrap().clone()
        }

        fn seconds(&self) -> Vec<u64> {
            self.requests()
                .iter()
                .map(|(seconds, _)| *seconds)
                .collect()
        }
    }

    /// Runs a test on a clock that advances while nothing else is to be done.
    fn on_paused_clock(test: impl Future<Output = ()>) {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        runtime.unwrap().block_on(test);
    }

    /// Returns the requests of a minute in which the user submits these indices each five seconds.
    async fn trace(submitted: fn(u64) -> Vec<u64>) -> Vec<(u64, usize)> {
        let schedule = FakeSchedule::start(&[]);
        for number in 0..13 {
            for index in submitted(number) {
                drop(schedule.scheduled.submit_index(index).unwrap());
            }
            sleep(Duration::from_secs(5)).await;
        }
        schedule.requests()
    }

    #[test]
    fn requests_do_not_depend_on_what_is_submitted() {
        on_paused_clock(async {
            let idle = trace(|_| Vec::new()).await;
            assert_eq!(idle, [10, 20, 30, 40, 50, 60].map(|seconds| (seconds, 3)));
            assert_eq!(trace(|number| (0..5 * (number % 3)).collect()).await, idle);
            assert_eq!(trace(|_| vec![7]).await, idle);
        });
    }

    #[test]
    fn slow_requests_miss_slots_and_are_followed_by_no_burst() {
        on_paused_clock(async {
            let schedule = FakeSchedule::start(&[1, 35]);
            sleep(Duration::from_secs(85)).await;
            assert_eq!(schedule.seconds(), [10, 20, 60, 70, 80]);
        });
    }

    #[test]
    fn each_lookup_gets_its_own_value_or_the_error_of_its_request() {
        on_paused_clock(async {
            let schedule = FakeSchedule::start(&[FAILING]);
            let mut awaited = Vec::new();
            for index in 0..4 {
                awaited.push(schedule.scheduled.submit_index(index).unwrap());
            }

            let last = awaited.pop().unwrap();
            for one in awaited {
                assert_eq!(one.await.unwrap_err().code(), "bad_token");
            }
            assert_eq!(last.await.unwrap(), Some(3_u64.to_le_bytes().to_vec()));
            // The first request ends at 65 s.
            assert_eq!(schedule.seconds(), [10, 70]);
        });
    }

    #[test]
    fn a_close_fails_waiting_lookups_and_sends_nothing() {
        on_paused_clock(async {
            let schedule = FakeSchedule::start(&[]);
            sleep(Duration::from_secs(25)).await;
            let awaited = schedule.scheduled.submit_index(1).unwrap();
            schedule.scheduled.close();

            assert_eq!(awaited.await.unwrap_err().code(), "schedule_closed");
            let refused = schedule.scheduled.submit_index(1).err().unwrap();
            assert_eq!(refused.code(), "schedule_closed");
            sleep(Duration::from_secs(100)).await;
            assert_eq!(schedule.seconds(), [10, 20]);
        });
    }
}
