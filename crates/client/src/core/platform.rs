//! The platform's clock and randomness.

use std::time::Duration;

use rand_core::CryptoRng;

/// Clock and randomness, which the core needs besides requests and storage.
pub trait Platform: Send + Sync {
    /// The time since some fixed moment. It never decreases.
    fn now(&self) -> Duration;

    /// A cryptographically secure random generator.
    fn rng(&self) -> Box<dyn CryptoRng + '_>;
}
