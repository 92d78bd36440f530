//! Timestamps of the registry.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Microseconds since 1970, strictly increasing within the process.
///
/// Clients are evicted in order of last use, so the order must hold even if the clock stands still
/// or is set back.
pub(super) fn now() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, microseconds);
    let next = |last: u64| clock.max(last + 1);
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)));
    last.map_or(clock, next)
}

/// A duration in microseconds, saturating.
pub(super) fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::now;

    #[test]
    fn timestamps_strictly_increase() {
        let times: Vec<u64> = (0..1000).map(|_| now()).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
