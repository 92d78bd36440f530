//! The platform's clock and randomness.

use std::time::Duration;

use rand_core::CryptoRng;

/// Clock and randomness, which the core needs besides requests and storage.
pub trait Platform: Send + Sync {
    /// The time since some fixed moment. It never decreases.
    fn now(&self) -> Duration;

    /// The time of day: seconds since 1970, UTC. It may jump. Certificates and the maximum age of
    /// checkpoints depend on it.
    fn unix_time(&self) -> u64;

    /// A cryptographically secure random generator.
    fn rng(&self) -> Box<dyn CryptoRng + '_>;
}
