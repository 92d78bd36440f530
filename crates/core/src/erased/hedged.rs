//! Randomness of queries.
//!
//! A cloned or restored virtual machine may draw the same random bytes twice. Equal randomness for
//! different items would give queries under one key with equal masks and errors, whose difference
//! reveals both: under a key that a client keeps, and just as well under fresh keys, which are then
//! the same. The generator of a query is therefore a pseudorandom function, keyed by the client's
//! state and fresh randomness, of the scheme, the database's version and the items: for different
//! items it differs whatever the system draws.

use rand_core::{CryptoRng, Infallible, TryCryptoRng, TryRng};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::envelope::Header;

/// BLAKE3's context string, which separates these keys from all other uses of the hash.
const CONTEXT: &str = "papir 2026 randomness of queries v1";

/// The generator of one query.
pub(super) struct Hedged(blake3::OutputReader);

impl Hedged {
    /// The generator for a query of `indices` under this header; `state` is the encoded state,
    /// empty for a client without one.
    pub(super) fn new(
        state: &[u8],
        header: &Header,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Self {
        let mut fresh = Zeroizing::new([0; 32]);
        rng.fill_bytes(fresh.as_mut_slice());

        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        // The length first: otherwise, a different state and header could give the same bytes.
        hasher
            .update(&(state.len() as u64).to_le_bytes())
            .update(state);
        hasher
            .update(&header.scheme.to_le_bytes())
            .update(&header.version.0);

        for index in indices {
            hasher.update(&index.to_le_bytes());
        }
        hasher.update(fresh.as_slice());

        let output = hasher.finalize_xof();
        hasher.zeroize();
        Self(output)
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

#[cfg(test)]
mod tests {
    use rand_core::Rng;

    use super::*;
    use crate::Version;
    use crate::envelope::Kind;

    /// A generator that always returns the same bytes, as after a restored machine.
    struct Stuck;

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

    fn first(state: &[u8], scheme: u16, version: u8, indices: &[u64]) -> u64 {
        let header = Header {
            kind: Kind::Query,
            scheme,
            version: Version([version; 8]),
        };
        Hedged::new(state, &header, indices, &mut Stuck).next_u64()
    }

    #[test]
    fn repeated_randomness_does_not_repeat_for_another_query() {
        let all = [
            first(b"key", 1, 1, &[5]),
            first(b"key", 1, 1, &[6]),
            first(b"key", 1, 1, &[5, 5]),
            first(b"key", 1, 2, &[5]),
            first(b"key", 2, 1, &[5]),
            first(b"kez", 1, 1, &[5]),
            first(b"", 1, 1, &[5]),
            first(b"", 1, 1, &[6]),
        ];
        for (position, value) in all.iter().enumerate() {
            assert!(!all[..position].contains(value), "{position}");
        }
        assert_eq!(all[0], first(b"key", 1, 1, &[5]));
    }
}
