//! Plaintexts and ciphertexts.

use zeroize::Zeroizing;

/// A residue modulo mˢ. Erased on drop, never printed.
#[derive(Clone)]
pub struct Plaintext {
    words: Zeroizing<Vec<u64>>,
}

impl Plaintext {
    pub(crate) fn new(words: Vec<u64>) -> Self {
        Self {
            words: Zeroizing::new(words),
        }
    }

    /// Little-endian words, [`Params::plaintext_words`](crate::Params::plaintext_words) of them.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

/// A residue modulo mˢ⁺¹. The caller keeps track of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ciphertext {
    words: Vec<u64>,
}

impl Ciphertext {
    pub(crate) fn new(words: Vec<u64>) -> Self {
        Self { words }
    }

    pub(crate) fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Little-endian words, [`Params::ciphertext_words`](crate::Params::ciphertext_words) of them.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}
