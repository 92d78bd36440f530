//! Sealed requests that have arrived before.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

/// Time for which a request is remembered.
const REMEMBERED: Duration = Duration::from_secs(600);
/// Most remembered requests. Beyond it the oldest are forgotten.
const MOST: usize = 1 << 20;
/// Bytes of a fingerprint that are remembered. Nobody can find two requests that share them, since
/// a fingerprint is a digest of a key that the sender must know.
const MARK_BYTES: usize = 16;

type Mark = [u8; MARK_BYTES];

/// The requests of the last ten minutes.
pub(super) struct Replays {
    seen: HashSet<Mark>,
    /// In the order of their arrival.
    order: VecDeque<SeenRequest>,
    most: usize,
}

struct SeenRequest {
    mark: Mark,
    arrived: Instant,
}

impl Replays {
    pub(super) fn new() -> Self {
        Self::with_most(MOST)
    }

    fn with_most(most: usize) -> Self {
        Self {
            seen: HashSet::new(),
            order: VecDeque::new(),
            most,
        }
    }

    /// Remembers a request. Returns false if it is a copy of one that is remembered.
    pub(super) fn admit(&mut self, fingerprint: &[u8; 32], now: Instant) -> bool {
        self.forget(now);

        let mut mark = [0; MARK_BYTES];
        mark.copy_from_slice(&fingerprint[..MARK_BYTES]);
        if !self.seen.insert(mark) {
            return false;
        }

        self.order.push_back(SeenRequest { mark, arrived: now });
        if self.order.len() > self.most {
            self.forget_oldest();
        }
        true
    }

    /// Forgets the requests that are too old.
    fn forget(&mut self, now: Instant) {
        while let Some(oldest) = self.order.front() {
            if now.saturating_duration_since(oldest.arrived) < REMEMBERED {
                return;
            }
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.order.pop_front() {
            self.seen.remove(&oldest.mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_refused_for_ten_minutes() {
        let mut replays = Replays::new();
        let begin = Instant::now();

        assert!(replays.admit(&[1; 32], begin));
        assert!(!replays.admit(&[1; 32], begin));
        assert!(replays.admit(&[2; 32], begin));
        let before = begin + REMEMBERED - Duration::from_millis(1);
        assert!(!replays.admit(&[1; 32], before));

        assert!(replays.admit(&[1; 32], begin + REMEMBERED));
        assert_eq!((replays.seen.len(), replays.order.len()), (1, 1));
    }

    #[test]
    fn the_oldest_are_forgotten_first() {
        let mut replays = Replays::with_most(2);
        let now = Instant::now();
        for one in [1, 2, 3] {
            assert!(replays.admit(&[one; 32], now));
        }

        assert!(!replays.admit(&[3; 32], now) && !replays.admit(&[2; 32], now));
        assert!(replays.admit(&[1; 32], now));
        assert_eq!((replays.seen.len(), replays.order.len()), (2, 2));
    }
}
