//! Plaintexts from longer numbers.

use crate::integer::{from_words, to_words};
use crate::{Plaintext, PublicKey};

impl PublicKey {
    /// A public number of any length modulo mˢ.
    pub fn reduce(&self, words: &[u64]) -> Plaintext {
        let residue = self.plain().reduce(&from_words(words));
        Plaintext::new(to_words(&residue, self.params().plaintext_words()))
    }
}
