//! Generators that hedge each draw.

use rand_core::{CryptoRng, Infallible, TryCryptoRng, TryRng};

use super::{Circumstances, Hedge, Hedged};

/// A generator that hedges every draw from another generator with the draw's [`Circumstances`]. It
/// keeps no state: each draw reads fresh bytes from the other generator.
#[derive(Clone, Debug)]
pub struct HedgedSource<R>(R);

impl<R: CryptoRng> HedgedSource<R> {
    /// Hedges the draws from `source`.
    pub fn new(source: R) -> Self {
        Self(source)
    }

    fn draw(&mut self) -> Hedged {
        Hedge::new("draw of the system's generator")
            .at(&Circumstances::now())
            .rng(&mut self.0)
    }
}

impl<R: CryptoRng> TryRng for HedgedSource<R> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.draw().try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.draw().try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.draw().try_fill_bytes(bytes)
    }
}

impl<R: CryptoRng> TryCryptoRng for HedgedSource<R> {}

/// The operating system's random generator, with each draw hedged. Panics if the system's generator
/// fails, since no query is private without randomness.
///
/// It does not exist in WebAssembly in a browser, where the page passes its generator to the
/// module.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub fn system_rng() -> impl CryptoRng + Clone + Send + Sync + 'static {
    HedgedSource::new(rand_core::UnwrapErr(getrandom::SysRng))
}

#[cfg(test)]
mod tests {
    use papir_testkit::Stuck;
    use rand_core::Rng;

    use super::*;

    #[test]
    fn a_source_that_repeats_does_not_repeat_a_draw() {
        let mut rng = HedgedSource::new(Stuck);
        let mut copy = rng.clone();
        let mut draws: Vec<u64> = (0..10)
            .flat_map(|_| [rng.next_u64(), copy.next_u64()])
            .collect();
        let count = draws.len();

        draws.sort_unstable();
        draws.dedup();
        assert_eq!(draws.len(), count);
    }

    #[test]
    fn draws_have_any_length() {
        let mut rng = system_rng();
        for length in [0, 1, 31, 32, 33, 1000] {
            let mut bytes = vec![0; length];
            rng.fill_bytes(&mut bytes);
            assert!(length < 32 || bytes.iter().any(|&byte| byte != 0));
        }
        assert_ne!(rng.next_u64(), rng.next_u64());
    }
}
