//! Timestamps of the registry.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A clock that goes wrong by more than this has been set.
const JUMP: Duration = Duration::from_secs(60);
/// Longest time for which nothing expires after a start or a jump.
const MAX_DOUBT: Duration = Duration::from_secs(600);

/// The wall clock, with doubts.
///
/// A machine may start with a wrong clock, which is set soon after. If clients expired by a wrong
/// clock, they would be removed for good. So for a while after a start, and after each jump,
/// nothing expires.
pub(super) struct Clock {
    doubt: Duration,
    last: Mutex<Option<Reading>>,
}

/// A timestamp and when it was read.
#[derive(Clone, Copy)]
struct Reading {
    /// In microseconds since 1970.
    time: u64,
    at: Instant,
    trusted_from: Instant,
}

impl Clock {
    /// A clock that is in doubt for at most `shortest_ttl`: no client that registered since then
    /// can have expired.
    pub(super) fn new(shortest_ttl: Duration) -> Self {
        let clock = Self {
            doubt: shortest_ttl.min(MAX_DOUBT),
            last: Mutex::new(None),
        };
        clock.now();
        clock
    }

    /// Microseconds since 1970. Strictly increasing unless the clock is set back: clients make room
    /// in the order of their last use.
    pub(super) fn now(&self) -> u64 {
        self.read(wall(), Instant::now()).time
    }

    /// The time by which clients expire, in microseconds since 1970; 0 while the clock is in doubt.
    pub(super) fn expiry(&self) -> u64 {
        let reading = self.read(wall(), Instant::now());
        if reading.at >= reading.trusted_from {
            reading.time
        } else {
            0
        }
    }

    fn read(&self, wall: u64, at: Instant) -> Reading {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let reading = match *last {
            Some(last) if last.is_followed_by(wall, at) => Reading {
                time: wall.max(last.time + 1),
                at,
                ..last
            },
            Some(_) => {
                tracing::warn!("the clock was set: for a while, no registered client expires");
                self.in_doubt(wall, at)
            }
            None => self.in_doubt(wall, at),
        };

        *last = Some(reading);
        reading
    }

    /// A reading after a start or a jump.
    fn in_doubt(&self, wall: u64, at: Instant) -> Reading {
        Reading {
            time: wall,
            at,
            trusted_from: at + self.doubt,
        }
    }
}

impl Reading {
    /// Returns whether the clock has not been set since this reading.
    fn is_followed_by(&self, wall: u64, at: Instant) -> bool {
        let passed = microseconds(at.duration_since(self.at));
        wall.abs_diff(self.time.saturating_add(passed)) <= microseconds(JUMP)
    }
}

/// The system's time, in microseconds since 1970.
fn wall() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, microseconds)
}

/// A duration in microseconds, saturating.
pub(super) fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    #[test]
    fn timestamps_strictly_increase() {
        let clock = Clock::new(Duration::ZERO);
        let times: Vec<u64> = (0..1000).map(|_| clock.now()).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(clock.expiry() > times[999]);
    }

    #[test]
    fn nothing_expires_for_a_while_after_a_start_and_after_a_jump() {
        let clock = Clock {
            doubt: MAX_DOUBT,
            last: Mutex::new(None),
        };
        let start = Instant::now();
        let trusted = |wall: u64, seconds: u64| {
            let at = start + Duration::from_secs(seconds);
            let reading = clock.read(wall * SECOND, at);
            assert_eq!(reading.time / SECOND, wall);
            at >= reading.trusted_from
        };
        let base = 1_800_000_000;
        let year = 31_536_000;

        assert!(!trusted(base, 0));
        assert!(!trusted(base + 599, 599));
        assert!(trusted(base + 600, 600));
        assert!(trusted(base + 659, 630), "a small correction");
        assert!(!trusted(base + year, 631), "ahead");
        assert!(!trusted(base + 700, 700), "and back");
        assert!(!trusted(base + 1299, 1299));
        assert!(trusted(base + 1300, 1300));
    }
}
