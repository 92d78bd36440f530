//! Clock and randomness of the operating system.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rand_core::CryptoRng;

use crate::core::Platform;
use crate::rng::system_rng;

/// The operating system's clock and randomness.
pub(super) struct Native {
    start: Instant,
}

impl Default for Native {
    fn default() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Platform for Native {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn unix_time(&self) -> u64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.as_secs())
    }

    fn rng(&self) -> Box<dyn CryptoRng + '_> {
        Box::new(system_rng())
    }
}
