//! Stand-in.
use crate::Result;
use crate::integer::{self, from_words, to_words};
use crypto_bigint::{BoxedUint, Odd};

#[derive(Clone)]
pub(crate) struct Batch {
    modulus: Odd<BoxedUint>,
    words: usize,
}

impl Batch {
    pub(crate) fn new(modulus: &BoxedUint) -> Result<Self> {
        Ok(Self { words: (modulus.bits_precision() / 64) as usize, modulus: integer::odd(modulus.clone())? })
    }

    pub(crate) fn powers(&self, bases: &[u64], exponent: &[u64]) -> Vec<u64> {
        let exponent = from_words(exponent);
        bases
            .chunks(self.words)
            .flat_map(|base| to_words(&from_words(base).pow_mod(&exponent, &self.modulus), self.words))
            .collect()
    }
}
