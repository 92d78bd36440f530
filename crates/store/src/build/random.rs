//! Random bytes that an interrupted build draws again.

use chacha20::ChaCha20Rng;
use rand_core::{Infallible, SeedableRng, TryCryptoRng, TryRng};

/// Bytes of a seed.
pub(super) const SEED_BYTES: usize = 32;

/// The random bytes of one build, all public: seeds of hashes and masks, the version.
pub(super) struct BuildRng {
    rng: ChaCha20Rng,
    drawn: u64,
}

impl BuildRng {
    pub(super) fn new(seed: [u8; SEED_BYTES]) -> Self {
        Self {
            rng: ChaCha20Rng::from_seed(seed),
            drawn: 0,
        }
    }

    /// Number of bytes drawn so far.
    pub(super) fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Draws and drops bytes, until `drawn` are.
    pub(super) fn skip_to(&mut self, drawn: u64) {
        while self.drawn + 4 <= drawn {
            let Ok(_) = self.try_next_u32();
        }
    }
}

impl TryRng for BuildRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.drawn += 4;
        self.rng.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.drawn += 8;
        self.rng.try_next_u64()
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        // The generator draws whole words.
        self.drawn += out.len().next_multiple_of(4) as u64;
        self.rng.try_fill_bytes(out)
    }
}

impl TryCryptoRng for BuildRng {}

#[cfg(test)]
mod tests {
    use rand_core::Rng;

    use super::*;

    #[test]
    fn a_generator_continues_where_another_stopped() {
        let mut first = BuildRng::new([7; SEED_BYTES]);
        let mut words = [0; 35];
        first.fill_bytes(&mut words);
        first.next_u64();
        first.next_u32();

        let mut second = BuildRng::new([7; SEED_BYTES]);
        second.skip_to(first.drawn());
        assert_eq!((second.drawn(), second.next_u64()), (48, first.next_u64()));
    }
}
