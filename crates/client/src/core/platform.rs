//! The platform's clock and randomness.

use std::time::Duration;

use papir_core::hedge::Circumstances;
use rand_core::CryptoRng;

/// A platform's clock and randomness, which the core needs besides requests and storage.
pub trait Platform: Send + Sync {
    /// The time since a fixed moment in the past. It never decreases.
    fn now(&self) -> Duration;

    /// The time of day in seconds since 1970, UTC. It may jump. The validity of certificates and
    /// the age of checkpoints depend on it.
    fn unix_time(&self) -> u64;

    /// A cryptographically secure random generator.
    fn rng(&self) -> Box<dyn CryptoRng + '_>;

    /// The circumstances of a random draw that happens now. Keys and blinds depend on them too, so
    /// that they differ on a copy of this machine whose generator draws the same bytes.
    fn circumstances(&self) -> Circumstances {
        Circumstances::now()
    }
}
