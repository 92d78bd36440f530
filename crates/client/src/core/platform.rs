//! The platform's clock and randomness.

use std::time::Duration;

use rand_core::CryptoRng;

/// Services of the platform that the core needs besides requests and storage.
pub trait Platform: Send + Sync {
    /// The time since any fixed moment; it never goes back.
    fn now(&self) -> Duration;

    /// A cryptographically secure generator.
    fn rng(&self) -> Box<dyn CryptoRng + '_>;
}
