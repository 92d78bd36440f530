//! A clock and randomness, the same in every test.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chacha20::ChaCha20Rng;
use papir_client::core::Platform;
use papir_core::hedge::Circumstances;
use rand_core::{CryptoRng, SeedableRng};

use super::EPOCH;

/// A clock that advances only while a task waits, and randomness that is the same in every test.
#[derive(Default)]
pub struct FixedPlatform {
    now: Mutex<Duration>,
    generators: AtomicU64,
}

impl FixedPlatform {
    pub fn advance(&self, duration: Duration) {
        *self.now.lock().unwrap() += duration;
    }
}

impl Platform for FixedPlatform {
    fn now(&self) -> Duration {
        *self.now.lock().unwrap()
    }

    fn unix_time(&self) -> u64 {
        EPOCH + self.now().as_secs()
    }

    fn rng(&self) -> Box<dyn CryptoRng + '_> {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(
            &self
                .generators
                .fetch_add(1, Ordering::Relaxed)
                .to_le_bytes(),
        );
        Box::new(ChaCha20Rng::from_seed(seed))
    }

    fn circumstances(&self) -> Circumstances {
        Circumstances::none()
    }
}
