//! Randomness that does not repeat when the system's generator does.
//!
//! A cloned or restored virtual machine may draw the same random bytes twice. Equal keys, nonces or
//! blinds for different messages can reveal both messages. A hedged generator is therefore a
//! pseudorandom function of fresh random bytes and of all data that distinguishes its use from
//! others.
//!
//! | module | contents |
//! |---|---|
//! | `circumstances` | clock, process, boot and place, which copies of a machine do not share |
//! | `source` | the system's generator, each draw hedged |
//!
//! The input is a list of parts, each preceded by its length. Fresh bytes are always the last part.
//! If they come from a good generator, the output is unpredictable for any other parts.

mod circumstances;
mod source;

use std::fmt;

use rand_core::{CryptoRng, Infallible, TryCryptoRng, TryRng};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

pub use circumstances::Circumstances;
pub use source::HedgedSource;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use source::system_rng;

/// BLAKE3's context string, which separates these keys from all other uses of the hash.
const CONTEXT: &str = "papir 2026 hedged randomness v1";

/// The input of a hedged generator. It may contain secrets, and is erased when dropped.
pub struct Hedge(blake3::Hasher);

impl Hedge {
    /// An input that starts with the purpose of the generator, for example `nonce of a state file`.
    pub fn new(purpose: &str) -> Self {
        Self(blake3::Hasher::new_derive_key(CONTEXT)).with(purpose.as_bytes())
    }

    /// Adds a part to the input.
    #[must_use]
    pub fn with(mut self, part: &[u8]) -> Self {
        // The length first: otherwise, other parts could give the same bytes.
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    /// Adds the circumstances of the draw to the input.
    #[must_use]
    pub fn at(self, circumstances: &Circumstances) -> Self {
        circumstances
            .parts()
            .iter()
            .fold(self, |hedge, part| match part {
                // Marked: a missing part differs from an empty one.
                Some(part) => hedge.with(&[1]).with(part),
                None => hedge.with(&[0]),
            })
    }

    /// The generator for this input alone, which must contain a secret seed that has no other use.
    /// The same input gives the same generator.
    pub fn of_seed(self) -> Hedged {
        Hedged(self.0.finalize_xof())
    }

    /// The generator for this input and 32 further bytes from `fresh`.
    pub fn rng(self, fresh: &mut dyn CryptoRng) -> Hedged {
        let mut bytes = Zeroizing::new([0; 32]);
        fresh.fill_bytes(bytes.as_mut_slice());
        Hedged(self.with(bytes.as_slice()).0.finalize_xof())
    }
}

impl Drop for Hedge {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for Hedge {}

impl fmt::Debug for Hedge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hedge(…)")
    }
}

/// A hedged generator, erased when dropped.
pub struct Hedged(blake3::OutputReader);

impl Hedged {
    /// The generator that outputs the extended output of a hash.
    pub(crate) fn of(hasher: &blake3::Hasher) -> Self {
        Self(hasher.finalize_xof())
    }
}

impl TryRng for Hedged {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Hedged {}

impl Drop for Hedged {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for Hedged {}

impl fmt::Debug for Hedged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hedged(…)")
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use papir_testkit::Stuck;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn parts_are_told_apart() {
        let of = |parts: &[&[u8]]| {
            let hedge = parts
                .iter()
                .fold(Hedge::new("test"), |hedge, part| hedge.with(part));
            hedge.rng(&mut Stuck).next_u64()
        };
        let inputs: [&[&[u8]]; 7] = [
            &[],
            &[b""],
            &[b"", b""],
            &[b"ab"],
            &[b"a", b"b"],
            &[b"", b"ab"],
            &[b"ab", b""],
        ];

        for (position, parts) in inputs.iter().enumerate() {
            assert!(
                !inputs[..position]
                    .iter()
                    .any(|other| of(other) == of(parts)),
                "{parts:?}"
            );
            assert_eq!(of(parts), of(parts));
        }
        assert_ne!(
            Hedge::new("a").rng(&mut Stuck).next_u64(),
            Hedge::new("b").rng(&mut Stuck).next_u64()
        );
    }

    #[test]
    fn a_seed_gives_one_generator() {
        let of = |seed: &[u8]| Hedge::new("test").with(seed).of_seed().next_u64();
        assert_eq!(of(b"seed"), of(b"seed"));
        assert_ne!(of(b"seed"), of(b"seee"));
    }

    #[test]
    fn fresh_bytes_always_enter() {
        let of = |seed| {
            Hedge::new("test")
                .with(b"part")
                .rng(&mut ChaCha20Rng::from_seed([seed; 32]))
                .next_u64()
        };
        assert_ne!(of(1), of(2));
        assert_eq!(of(1), of(1));
    }

    #[test]
    fn missing_circumstances_are_no_empty_ones() {
        let none = Circumstances::none();
        let of = |hedge: Hedge| hedge.rng(&mut Stuck).next_u64();
        let empty = of(Hedge::new("test").at(&none.clone().with(b"")));
        assert_ne!(of(Hedge::new("test").at(&none)), empty);
    }
}
