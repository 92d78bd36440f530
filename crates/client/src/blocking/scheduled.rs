//! Scheduled lookups over a blocking connection.

use std::thread;
use std::time::{Duration, Instant};

use super::connection::Connection;
use crate::core::{Costs, FoundValue, Schedule, ScheduleRunner, Scheduled, ScheduledBatch};
use crate::error::{Error, Result};
use crate::rng::system_rng;

impl Connection {
    /// Starts a schedule on a thread of its own, which takes over the connection. A scheme with
    /// client keys registers at once, and masks are decrypted between the slots.
    ///
    /// Lookups over a clone of the connection are requests of their own, at the time of the call.
    ///
    /// # Errors
    /// The errors of [`Schedule::start`], and [`Error::Schedule`] without a thread.
    pub fn schedule(mut self, schedule: Schedule) -> Result<Scheduled> {
        let (scheduled, runner) = schedule.start(self.info(), self.lookup())?;
        self.begin_schedule();
        let clock = SystemClock {
            start: Instant::now(),
        };

        thread::Builder::new()
            .name("papir-schedule".to_owned())
            .spawn(move || run(self, &runner, &clock))
            .map_err(|error| Error::Schedule {
                reason: format!("no thread for it: {error}"),
            })?;
        Ok(scheduled)
    }
}

/// The calls of a connection that a schedule makes.
trait ScheduledCalls {
    /// Number of records of the database.
    fn records(&self) -> u64;

    /// The costs since the connection was opened.
    fn costs(&self) -> Costs;

    /// Does in advance the work for this number of lookups.
    fn prepare(&mut self, lookups: usize);

    /// Sends the lookups of a batch. Returns their outcomes.
    fn look_up(&mut self, batch: &ScheduledBatch) -> Result<Vec<FoundValue>>;
}

impl ScheduledCalls for Connection {
    fn records(&self) -> u64 {
        self.lookup().describe().shape.records()
    }

    fn costs(&self) -> Costs {
        Self::costs(self)
    }

    fn prepare(&mut self, lookups: usize) {
        // The next request meets the same error, and reports it.
        let _ = self.prepare_ahead(lookups);
    }

    fn look_up(&mut self, batch: &ScheduledBatch) -> Result<Vec<FoundValue>> {
        self.get_each(&batch.wanted())
    }
}

/// A monotonic clock of slots.
trait SlotClock {
    /// The time since the clock's start.
    fn now(&self) -> Duration;

    /// Waits until a time, or until the schedule is closed. Returns true if it is closed.
    fn is_closed_before(&self, time: Duration, runner: &ScheduleRunner) -> bool;
}

struct SystemClock {
    start: Instant,
}

impl SlotClock for SystemClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn is_closed_before(&self, time: Duration, runner: &ScheduleRunner) -> bool {
        runner.wait_closed(time.saturating_sub(self.now()))
    }
}

/// Sends one request in each slot until the schedule is closed.
fn run(mut connection: impl ScheduledCalls, runner: &ScheduleRunner, clock: &impl SlotClock) {
    let mut slots = runner.slots(clock.now());

    loop {
        connection.prepare(runner.batch());
        runner.set_costs(connection.costs());

        let slot = slots.next(clock.now());
        if clock.is_closed_before(slot.at, runner) {
            return;
        }

        // Goes on after an error, whatever it is: the server may have caused it, and an end would
        // tell the server that the lookup failed.
        let batch = runner.draw(connection.records(), &mut system_rng());
        let found = connection.look_up(&batch);
        runner.set_costs(connection.costs());
        batch.answer(found);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    use super::*;
    use crate::core::Awaited;

    const EVERY: Duration = Duration::from_secs(10);
    const SCHEDULE: Schedule = Schedule {
        every: EVERY,
        batch: 3,
    };
    const SLOTS: usize = 6;

    /// A connection and its clock, on which time passes only in waits and in requests.
    struct FakeWorld {
        now: Cell<Duration>,
        /// Times of the requests, and their numbers of lookups.
        requests: RefCell<Vec<(Duration, usize)>>,
        /// The duration of each request.
        durations: [Duration; SLOTS],
        /// The number of the request that fails.
        failing: Option<usize>,
        /// Called before each wait, with its number.
        user: RefCell<Box<dyn FnMut(usize)>>,
        waits: Cell<usize>,
    }

    impl FakeWorld {
        fn new(user: impl FnMut(usize) + 'static) -> Self {
            Self {
                now: Cell::new(Duration::from_secs(1234)),
                requests: RefCell::default(),
                durations: [Duration::from_secs(1); SLOTS],
                failing: None,
                user: RefCell::new(Box::new(user)),
                waits: Cell::new(0),
            }
        }

        fn pass(&self, duration: Duration) {
            self.now.set(self.now.get() + duration);
        }

        /// The times of the requests since the start, in seconds.
        fn seconds(&self) -> Vec<u64> {
            let start = Duration::from_secs(1234);
            let requests = self.requests.borrow();
            requests
                .iter()
                .map(|(time, _)| (*time - start).as_secs())
                .collect()
        }
    }

    impl ScheduledCalls for &FakeWorld {
        fn records(&self) -> u64 {
            100
        }

        fn costs(&self) -> Costs {
            Costs {
                requests: self.requests.borrow().len() as u64,
                ..Costs::default()
            }
        }

        fn prepare(&mut self, lookups: usize) {
            assert_eq!(lookups, SCHEDULE.batch);
        }

        fn look_up(&mut self, batch: &ScheduledBatch) -> Result<Vec<FoundValue>> {
            let indices = batch.indices();
            let mut requests = self.requests.borrow_mut();
            let number = requests.len();
            requests.push((self.now.get(), indices.len()));

            self.pass(self.durations[number]);
            if self.failing == Some(number) {
                return Err(Error::BadToken);
            }
            let values = indices.iter().map(|index| index.to_le_bytes().to_vec());
            Ok(values.map(|value| Ok(Some(value))).collect())
        }
    }

    impl SlotClock for FakeWorld {
        fn now(&self) -> Duration {
            self.now.get()
        }

        fn is_closed_before(&self, time: Duration, runner: &ScheduleRunner) -> bool {
            let number = self.waits.replace(self.waits.get() + 1);
            (self.user.borrow_mut())(number);
            // Late by a moment, as timers are.
            self.now.set(time + Duration::from_millis(3));
            number == SLOTS || runner.wait_closed(Duration::ZERO)
        }
    }

    /// Runs a schedule whose user does nothing.
    fn run_idle(world: &FakeWorld) {
        let (_scheduled, runner) = SCHEDULE.start_without_database();
        run(world, &runner, world);
    }

    /// Returns the requests of a schedule in which the user submits these indices before each slot.
    fn trace(submitted: fn(usize) -> Vec<u64>) -> Vec<(Duration, usize)> {
        let (scheduled, runner) = SCHEDULE.start_without_database();
        let world = FakeWorld::new(move |number| {
            for index in submitted(number) {
                drop(scheduled.submit_index(index).unwrap());
            }
        });
        run(&world, &runner, &world);
        world.requests.into_inner()
    }

    #[test]
    fn requests_do_not_depend_on_what_is_submitted() {
        let idle = trace(|_| Vec::new());
        assert_eq!(idle.len(), SLOTS);
        assert!(idle.iter().all(|(_, lookups)| *lookups == SCHEDULE.batch));
        let bursts = trace(|number| {
            if number.is_multiple_of(2) {
                (0..20).collect()
            } else {
                Vec::new()
            }
        });
        let repeated = trace(|_| vec![7]);
        assert_eq!([bursts, repeated], [idle.clone(), idle]);
    }

    #[test]
    fn each_lookup_gets_its_own_value_in_the_order_of_submission() {
        let (scheduled, runner) = SCHEDULE.start_without_database();
        let awaited: Vec<Awaited> = (0..5)
            .map(|index| scheduled.submit_index(index).unwrap())
            .collect();
        assert_eq!(scheduled.waiting(), 5);

        let world = FakeWorld::new(|_| {});
        run(&world, &runner, &world);
        for (index, awaited) in (0_u64..).zip(awaited) {
            assert_eq!(awaited.wait().unwrap(), Some(index.to_le_bytes().to_vec()));
        }
        assert_eq!((scheduled.waiting(), scheduled.costs().requests), (0, 6));
    }

    #[test]
    fn slow_requests_miss_slots_and_are_followed_by_no_burst() {
        let mut world = FakeWorld::new(|_| {});
        world.durations[1] = Duration::from_secs(35);
        run_idle(&world);
        // The second request takes from 20 s to 55 s.
        assert_eq!(world.seconds(), [10, 20, 60, 70, 80, 90]);
    }

    #[test]
    fn a_failed_request_fails_its_lookups_and_nothing_else() {
        let (scheduled, runner) = SCHEDULE.start_without_database();
        let awaited: Vec<Awaited> = (0..4)
            .map(|index| scheduled.submit_index(index).unwrap())
            .collect();
        let mut world = FakeWorld::new(|_| {});
        world.failing = Some(0);
        run(&world, &runner, &world);

        assert_eq!(world.seconds(), [10, 20, 30, 40, 50, 60]);
        let codes: Vec<String> = awaited
            .into_iter()
            .map(|one| {
                one.wait()
                    .map_or_else(|error| error.code().to_owned(), |_| "ok".to_owned())
            })
            .collect();
        assert_eq!(codes, ["bad_token", "bad_token", "bad_token", "ok"]);
    }

    #[test]
    fn a_close_fails_waiting_lookups_and_sends_nothing() {
        let (scheduled, runner) = SCHEDULE.start_without_database();
        let kept = Rc::new(RefCell::new(None));
        let submitted = Rc::clone(&kept);
        let mut scheduled = Some(scheduled);
        let world = FakeWorld::new(move |number| {
            if number == 2 {
                let scheduled = scheduled.take().unwrap();
                *submitted.borrow_mut() = Some(scheduled.submit_index(1).unwrap());
            }
        });
        run(&world, &runner, &world);

        assert_eq!(world.seconds(), [10, 20]);
        let awaited: Awaited = kept.take().unwrap();
        assert_eq!(awaited.wait().unwrap_err().code(), "schedule_closed");
    }

    #[test]
    fn the_system_clock_waits_until_the_time_or_the_close() {
        let (scheduled, runner) = SCHEDULE.start_without_database();
        let clock = SystemClock {
            start: Instant::now(),
        };
        let soon = clock.now() + Duration::from_millis(5);
        assert!(!clock.is_closed_before(soon, &runner));
        assert!(clock.now() >= soon);

        drop(scheduled);
        assert!(clock.is_closed_before(Duration::MAX, &runner));
    }
}
