//! A generator that repeats itself.

use std::convert::Infallible;

use rand_core::{TryCryptoRng, TryRng};

/// A generator that always returns the same bytes, as after a restored machine.
#[derive(Clone)]
pub struct Stuck;

impl TryRng for Stuck {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(7)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(7)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill(7);
        Ok(())
    }
}

impl TryCryptoRng for Stuck {}
