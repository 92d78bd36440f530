//! Randomness and progress of one long computation.

use rand_core::CryptoRng;

use crate::Progress;

/// The randomness that a setup, an update or a build draws, and the receiver of its progress.
pub struct Run<'a> {
    /// Draws seeds, versions and names of temporary files.
    pub rng: &'a mut dyn CryptoRng,
    /// Receives the stages and their steps.
    pub progress: &'a dyn Progress,
}

impl<'a> Run<'a> {
    /// A computation with this randomness, which reports to `progress`.
    pub fn new(rng: &'a mut dyn CryptoRng, progress: &'a dyn Progress) -> Self {
        Self { rng, progress }
    }
}
