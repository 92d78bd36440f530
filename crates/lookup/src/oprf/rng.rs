//! Adapter from `rand_core` 0.10 to the `rand_core` 0.6 of `voprf`.

use rand_core::CryptoRng;
use rand_core_06 as old;

/// A generator of `rand_core` 0.10 with the traits of 0.6.
pub(crate) struct OldRng<'a>(pub(crate) &'a mut dyn CryptoRng);

impl old::RngCore for OldRng<'_> {
    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        self.0.fill_bytes(out);
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), old::Error> {
        self.0.fill_bytes(out);
        // A `CryptoRng` of 0.10 never fails.
        Ok(())
    }
}

impl old::CryptoRng for OldRng<'_> {}
