//! Integers from little-endian 64-bit words, and modular arithmetic.
//!
//! Values have the length of their modulus, so lengths reveal nothing about secrets. Functions not
//! named `vartime` take the same time for all values of a length.

use crypto_bigint::{BoxedUint, ConcatenatingMul, NonZero, Odd, RandomMod};
use rand_core::CryptoRng;
use subtle::{Choice, ConstantTimeLess};
use zeroize::{Zeroize, Zeroizing};

use crate::error::{Error, ModulusFault, Result};

/// Converts words to an integer of the same length.
pub(crate) fn from_words(words: &[u64]) -> BoxedUint {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    from_bytes(&Zeroizing::new(bytes))
}

/// Converts bytes, a multiple of eight, to an integer of the same length.
pub(crate) fn from_bytes(bytes: &[u8]) -> BoxedUint {
    BoxedUint::from_le_slice_truncated(bytes, 8 * bytes.len() as u32)
}

/// Returns the lowest `count` words; higher words must be zero.
pub(crate) fn to_words(number: &BoxedUint, count: usize) -> Vec<u64> {
    let bytes = Zeroizing::new(number.to_le_bytes().into_vec());

    let mut words = vec![0; count];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(8)) {
        *word = bytes
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u64::from(byte));
    }
    words
}

/// Checks that a modulus is odd.
pub(crate) fn odd(number: BoxedUint) -> Result<Odd<BoxedUint>> {
    let even = Error::Modulus {
        found: ModulusFault::Even,
    };
    Odd::new(number).into_option().ok_or(even)
}

/// Arithmetic modulo an odd number of a whole number of words, on residues of that length. It takes
/// the same time for all residues. Erased on drop.
#[derive(Clone)]
pub(crate) struct Residues {
    modulus: Odd<BoxedUint>,
    /// Only secret moduli need divisions whose time is independent of the modulus.
    is_public: bool,
}

impl Residues {
    /// Creates arithmetic with a public modulus.
    pub(crate) fn public(modulus: BoxedUint) -> Result<Self> {
        Ok(Self {
            modulus: odd(modulus)?,
            is_public: true,
        })
    }

    /// Creates arithmetic with a secret modulus.
    pub(crate) fn secret(modulus: BoxedUint) -> Result<Self> {
        Ok(Self {
            modulus: odd(modulus)?,
            is_public: false,
        })
    }

    pub(crate) fn modulus(&self) -> &BoxedUint {
        self.modulus.as_ref()
    }

    /// The modulus as a nonzero number.
    pub(crate) fn divisor(&self) -> &NonZero<BoxedUint> {
        self.modulus.as_nz_ref()
    }

    pub(crate) fn bits_precision(&self) -> u32 {
        self.modulus.bits_precision()
    }

    /// Words of a residue.
    pub(crate) fn words(&self) -> usize {
        (self.bits_precision() / 64) as usize
    }

    /// Resizes a number to the length of this modulus; it must fit.
    pub(crate) fn resize(&self, number: &BoxedUint) -> BoxedUint {
        let mut resized = BoxedUint::zero_with_precision(self.bits_precision());
        let length = resized.nlimbs().min(number.nlimbs());
        resized.as_mut_words()[..length].copy_from_slice(&number.as_words()[..length]);
        resized
    }

    /// Reduces any number.
    pub(crate) fn reduce(&self, number: &BoxedUint) -> BoxedUint {
        // The time of `rem_vartime` depends on the divisor only.
        let divisor = self.divisor();
        let remainder = if self.is_public {
            number.rem_vartime(divisor)
        } else {
            number.rem(divisor)
        };
        self.resize(&Zeroizing::new(remainder))
    }

    pub(crate) fn add(&self, a: &BoxedUint, b: &BoxedUint) -> BoxedUint {
        a.add_mod(b, self.divisor())
    }

    pub(crate) fn subtract(&self, a: &BoxedUint, b: &BoxedUint) -> BoxedUint {
        a.sub_mod(b, self.divisor())
    }

    pub(crate) fn multiply(&self, a: &BoxedUint, b: &BoxedUint) -> BoxedUint {
        let product = Zeroizing::new(a.concatenating_mul(b));
        self.reduce(&product)
    }

    /// Converts a small number.
    pub(crate) fn small(&self, number: u64) -> BoxedUint {
        self.resize(&BoxedUint::from(number))
    }

    /// Returns 1/a if it exists.
    pub(crate) fn inverse(&self, a: &BoxedUint) -> Option<BoxedUint> {
        a.invert_odd_mod(&self.modulus).into_option()
    }

    /// Draws a uniform nonzero residue. The time depends only on rejected candidates.
    pub(crate) fn random_nonzero(&self, rng: &mut dyn CryptoRng) -> BoxedUint {
        loop {
            let number = BoxedUint::random_mod_vartime(rng, self.divisor());
            if !bool::from(number.is_zero()) {
                return number;
            }
        }
    }
}

impl Drop for Residues {
    fn drop(&mut self) {
        self.modulus.zeroize();
    }
}

/// Returns whether a < b, for equal numbers of words.
pub(crate) fn less(a: &[u64], b: &[u64]) -> Choice {
    let mut less = Choice::from(0);

    // Lowest words first: a higher word that differs overrules all lower ones.
    for (a, b) in a.iter().zip(b) {
        less = a.ct_lt(b) | (!b.ct_lt(a) & less);
    }
    less
}

/// Returns base^exponent over the integers, in a length that holds it.
pub(crate) fn integer_power(base: &BoxedUint, exponent: u32) -> BoxedUint {
    (1..exponent).fold(base.clone(), |power, _| {
        // The base may be a secret prime, so every power on the way is erased.
        let next = power.concatenating_mul(base);
        drop(Zeroizing::new(power));
        next
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        let words = [1, 0, u64::MAX, 1 << 63];
        let number = from_words(&words);
        assert_eq!(number.bits_precision(), 256);
        assert_eq!(to_words(&number, 4), words);
        assert_eq!(to_words(&from_words(&[5]), 3), [5, 0, 0]);
    }

    #[test]
    fn less_compares_numbers() {
        for (a, b, expected) in [
            ([0, 1], [5, 1], true),
            ([5, 0], [0, 1], true),
            ([0, 1], [0, 1], false),
            ([1, 1], [9, 0], false),
        ] {
            assert_eq!(bool::from(less(&a, &b)), expected, "{a:?} < {b:?}");
        }
    }

    #[test]
    fn arithmetic_is_modular() {
        for residues in [Residues::public, Residues::secret] {
            let residues = residues(from_words(&[101, 1])).unwrap();
            let m = (1u128 << 64) + 101;
            let of = |x: u128| residues.resize(&BoxedUint::from(x));
            let a = m - 3;
            let b = m / 2;

            assert_eq!(residues.add(&of(a), &of(b)), of((a + b) % m));
            assert_eq!(residues.subtract(&of(b), &of(a)), of((m + b - a) % m));
            assert_eq!(residues.multiply(&of(3), &of(b)), of(3 * b % m));
            assert_eq!(
                residues.reduce(&from_words(&[0, 0, 1, 0])),
                of(101 * 101),
                "2^128"
            );
            assert_eq!(residues.inverse(&of(2)), Some(of(m.div_ceil(2))));
        }

        assert!(Residues::public(from_words(&[4])).is_err());
    }

    #[test]
    fn powers_are_exact() {
        let base = from_words(&[u64::MAX]);
        assert_eq!(to_words(&integer_power(&base, 2), 2), [1, u64::MAX - 1]);
        assert_eq!(integer_power(&base, 1), base);
    }
}
