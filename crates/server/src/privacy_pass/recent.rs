//! Tokens that were spent a short time ago.
//!
//! A copy of a spent token costs a verification, a turn and a change of the registry, and has no
//! limit of its address. So whoever sends one again and again would delay the tokens of others. The
//! last tokens are in memory, where a copy costs a look.

use std::collections::HashSet;
use std::mem;
use std::sync::{Mutex, PoisonError};

/// Tokens in one of the two generations, of 32 bytes each.
const GENERATION: usize = 1 << 15;

type TokenDigest = [u8; 32];

/// The digests of the tokens that were spent last. It may have forgotten any of them: the registry
/// decides.
#[derive(Default)]
pub(super) struct RecentTokens(Mutex<Generations>);

#[derive(Default)]
struct Generations {
    current: HashSet<TokenDigest>,
    former: HashSet<TokenDigest>,
}

impl RecentTokens {
    /// Notes that a token was spent, now or before.
    pub(super) fn note(&self, digest: &TokenDigest) {
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.current.len() >= GENERATION {
            tokens.former = mem::take(&mut tokens.current);
        }
        tokens.current.insert(*digest);
    }

    /// Returns true if a token is known to be spent.
    pub(super) fn contains(&self, digest: &TokenDigest) -> bool {
        let tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.current.contains(digest) || tokens.former.contains(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: usize) -> TokenDigest {
        *blake3::hash(&number.to_le_bytes()).as_bytes()
    }

    #[test]
    fn the_last_tokens_are_known_and_their_number_is_bounded() {
        let recent = RecentTokens::default();
        assert!(!recent.contains(&digest(0)));
        for number in 0..=2 * GENERATION {
            recent.note(&digest(number));
            assert!(recent.contains(&digest(number)));
        }

        assert!(recent.contains(&digest(GENERATION)));
        assert!(!recent.contains(&digest(GENERATION - 1)));
        let tokens = recent.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!((tokens.current.len(), tokens.former.len()), (1, GENERATION));
    }
}
