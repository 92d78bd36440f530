//! Times of scheduled requests.

use std::time::Duration;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// The slots of a schedule, at multiples of its interval after its start.
#[derive(Clone, Debug)]
pub struct TimeSlots {
    start: Duration,
    every: Duration,
    /// The number of the last slot; 0 before the first.
    last: u64,
}

/// One slot: the time of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSlot {
    /// The slot's number, from 1. Slots that were missed have numbers, too.
    pub number: u64,
    /// The slot's time, on the clock of the schedule's start.
    pub at: Duration,
}

impl TimeSlots {
    /// The slots of a schedule that starts at the time `start` of a monotonic clock. An interval of
    /// zero counts as a nanosecond.
    pub fn new(start: Duration, every: Duration) -> Self {
        Self {
            start,
            every: every.max(Duration::from_nanos(1)),
            last: 0,
        }
    }

    /// The first slot after the last returned one that is not before `now`. Slot n is at the start
    /// plus n intervals. Slots before `now` are missed: their requests are never made up for.
    pub fn next(&mut self, now: Duration) -> TimeSlot {
        let passed = now.saturating_sub(self.start).as_nanos();
        let ahead = passed.div_ceil(self.every.as_nanos());
        let ahead = u64::try_from(ahead).unwrap_or(u64::MAX);

        self.last = ahead.max(self.last.saturating_add(1));
        TimeSlot {
            number: self.last,
            at: self.start.saturating_add(times(self.every, self.last)),
        }
    }
}

/// The product of a duration and a number, or the longest duration if that is shorter.
fn times(every: Duration, number: u64) -> Duration {
    let nanos = every.as_nanos().saturating_mul(u128::from(number));
    let seconds = u64::try_from(nanos / NANOS_PER_SECOND);
    let rest = u32::try_from(nanos % NANOS_PER_SECOND);

    match (seconds, rest) {
        (Ok(seconds), Ok(rest)) => Duration::new(seconds, rest),
        _ => Duration::MAX,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    const START: Duration = Duration::from_secs(1000);
    const EVERY: Duration = Duration::from_secs(10);

    fn after(milliseconds: u64) -> Duration {
        START + Duration::from_millis(milliseconds)
    }

    fn slot(number: u64) -> TimeSlot {
        TimeSlot {
            number,
            at: after(10_000 * number),
        }
    }

    #[test]
    fn slots_follow_each_other_at_multiples_of_the_interval() {
        let mut slots = TimeSlots::new(START, EVERY);
        assert_eq!(slots.next(START), slot(1));
        // A timer that fires early, in time, and late within the interval.
        assert_eq!(slots.next(after(9_999)), slot(2));
        assert_eq!(slots.next(after(20_000)), slot(3));
        assert_eq!(slots.next(after(39_000)), slot(4));
        // Late requests do not move later slots.
        assert_eq!(slots.next(after(40_001)), slot(5));
    }

    #[test]
    fn missed_slots_are_dropped_and_never_made_up_for() {
        let mut slots = TimeSlots::new(START, EVERY);
        assert_eq!(slots.next(START), slot(1));
        // A request that took from 10 s to 47 s.
        assert_eq!(slots.next(after(47_000)), slot(5));
        assert_eq!(slots.next(after(50_100)), slot(6));
        // The time of a slot is not missed.
        assert_eq!(slots.next(after(90_000)), slot(9));
    }

    #[test]
    fn every_slot_is_ahead_on_the_grid_and_as_early_as_possible() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for _ in 0..200 {
            let start = Duration::from_nanos(rng.next_u64() >> 20);
            let every = Duration::from_nanos(1 + (rng.next_u64() >> 30));
            let mut slots = TimeSlots::new(start, every);
            let mut now = start;
            let mut last = 0;

            for _ in 0..50 {
                let TimeSlot { number, at } = slots.next(now);
                assert_eq!(at, start + times(every, number));
                assert!(at >= now && number > last, "{at:?} {now:?}");
                assert!(number == last + 1 || at - now < every, "{at:?} {now:?}");

                last = number;
                // A request of at most three intervals.
                let most = 3 * u64::try_from(every.as_nanos()).unwrap();
                now = at + Duration::from_nanos(rng.next_u64() % most);
            }
        }
    }

    #[test]
    fn times_beyond_the_clock_are_the_end_of_it() {
        let mut slots = TimeSlots::new(START, Duration::MAX);
        assert_eq!(slots.next(START).at, Duration::MAX);
        assert_eq!(slots.next(Duration::MAX).at, Duration::MAX);

        let mut slots = TimeSlots::new(Duration::ZERO, Duration::ZERO);
        assert_eq!(slots.next(Duration::MAX).number, u64::MAX);
    }
}
