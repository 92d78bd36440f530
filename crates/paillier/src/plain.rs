//! Arithmetic with plaintexts.

use crypto_bigint::BoxedUint;
use zeroize::Zeroizing;

use crate::integer::{from_words, to_words};
use crate::{Plaintext, PublicKey};

impl PublicKey {
    /// A public number of any length modulo mˢ.
    pub fn reduce(&self, words: &[u64]) -> Plaintext {
        self.plaintext_of(&self.plain().reduce(&from_words(words)))
    }

    /// a − b modulo mˢ.
    pub fn difference(&self, a: &Plaintext, b: &Plaintext) -> Plaintext {
        let [a, b] = [a, b].map(|plaintext| Zeroizing::new(from_words(plaintext.words())));
        self.plaintext_of(&Zeroizing::new(self.plain().subtract(&a, &b)))
    }

    fn plaintext_of(&self, number: &BoxedUint) -> Plaintext {
        Plaintext::new(to_words(number, self.params().plaintext_words()))
    }
}
