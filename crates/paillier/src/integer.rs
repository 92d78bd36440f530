//! Integers from little-endian 64-bit words, and modular arithmetic.
//!
//! Values have the length of their modulus, so lengths reveal nothing about secrets. Functions not
//! named `vartime` take the same time for all values of a length.

use crypto_bigint::{BoxedUint, ConcatenatingMul, NonZero, Odd, RandomMod};
use papir_kernels::Backend;
use papir_kernels::bigint_mod::Modulus;
use rand_core::CryptoRng;
use subtle::{Choice, ConstantTimeLess};
use zeroize::{Zeroize, Zeroizing};

use crate::error::{Error, ModulusFault, Result};

/// Converts words to an integer of the same length.
pub(crate) fn from_words(words: &[u64]) -> BoxedUint {
    // Allocated in full: a reallocation would leave a copy of the words behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(8 * words.len()));
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    from_bytes(&bytes)
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
pub(crate) struct Residues {
    modulus: Odd<BoxedUint>,
    /// Arithmetic with a secret modulus.
    secret: Option<PrimePower>,
}

/// Arithmetic modulo a power of a secret prime. The divisions of `crypto-bigint` would leave copies
/// of the modulus in freed memory, and their time depends on it.
struct PrimePower {
    kernel: Modulus,
    /// φ(pᵏ) − 1: elements to this power are inverses.
    inverting: Zeroizing<Vec<u64>>,
}

impl Residues {
    /// Creates arithmetic with a public modulus.
    pub(crate) fn public(modulus: BoxedUint) -> Result<Self> {
        Ok(Self {
            modulus: odd(modulus)?,
            secret: None,
        })
    }

    /// Creates arithmetic modulo a power, at least the first, of a secret prime of whole words.
    pub(crate) fn of_prime(prime: &BoxedUint, power: u32) -> Result<Self> {
        let modulus = Zeroizing::new(integer_power(prime, power));
        let words = (modulus.bits_precision() / 64) as usize;
        let one = BoxedUint::one_with_precision(modulus.bits_precision());
        let below = Zeroizing::new(match power {
            1 => one.clone(),
            _ => integer_power(prime, power - 1),
        });

        // φ(pᵏ) = pᵏ − pᵏ⁻¹.
        let totient = Zeroizing::new(modulus.wrapping_sub(&*below));
        let inverting = Zeroizing::new(totient.wrapping_sub(&one));
        let secret = PrimePower {
            kernel: kernel_modulus(&Zeroizing::new(to_words(&modulus, words)), false)?,
            inverting: Zeroizing::new(to_words(&inverting, words)),
        };

        Ok(Self {
            modulus: odd((*modulus).clone())?,
            secret: Some(secret),
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
        match &self.secret {
            Some(secret) => self.leave(secret, &secret.enter(number)),
            // Its time depends on the divisor only.
            None => {
                let remainder = Zeroizing::new(number.rem_vartime(self.divisor()));
                self.resize(&remainder)
            }
        }
    }

    pub(crate) fn add(&self, a: &BoxedUint, b: &BoxedUint) -> BoxedUint {
        match &self.secret {
            Some(secret) => self.leave(secret, &secret.sum(a, b, 1)),
            None => a.add_mod(b, self.divisor()),
        }
    }

    pub(crate) fn subtract(&self, a: &BoxedUint, b: &BoxedUint) -> BoxedUint {
        match &self.secret {
            Some(secret) => self.leave(secret, &secret.sum(a, b, -1)),
            None => a.sub_mod(b, self.divisor()),
        }
    }

    pub(crate) fn multiply(&self, a: &BoxedUint, b: &BoxedUint) -> BoxedUint {
        if let Some(secret) = &self.secret {
            let mut product = secret.enter(a);
            secret.kernel.multiply(&mut product, &secret.enter(b));
            return self.leave(secret, &product);
        }

        let product = Zeroizing::new(a.concatenating_mul(b));
        self.reduce(&product)
    }

    /// Converts a small number.
    pub(crate) fn small(&self, number: u64) -> BoxedUint {
        self.resize(&BoxedUint::from(number))
    }

    /// Returns 1/a if it exists. With a secret modulus, also `None` if its base is not prime.
    pub(crate) fn inverse(&self, a: &BoxedUint) -> Option<BoxedUint> {
        let Some(secret) = &self.secret else {
            return a.invert_odd_mod(&self.modulus).into_option();
        };

        let kernel = &secret.kernel;
        let exponent = &secret.inverting;
        let mut element = secret.enter(a);
        kernel.power(&mut element, exponent, 64 * exponent.len());
        let inverse = self.leave(secret, &element);

        kernel.multiply(&mut element, &secret.enter(a));
        let product = Zeroizing::new(self.leave(secret, &element));
        (*product == self.small(1)).then_some(inverse)
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

    /// Converts an element to a residue.
    fn leave(&self, secret: &PrimePower, element: &[u64]) -> BoxedUint {
        let mut words = Zeroizing::new(vec![0; self.words()]);
        let length = secret.kernel.words();
        secret.kernel.leave(element, &mut words[..length]);
        from_words(&words)
    }
}

impl PrimePower {
    /// Converts any number to an element.
    fn enter(&self, number: &BoxedUint) -> Zeroizing<Vec<u64>> {
        let length = number.bits_precision().div_ceil(64) as usize;
        let words = Zeroizing::new(to_words(number, length));

        let mut element = Zeroizing::new(vec![0; self.kernel.limbs()]);
        self.kernel.enter(&words, length, &mut element);
        element
    }

    /// The element a + scale·b.
    fn sum(&self, a: &BoxedUint, b: &BoxedUint, scale: i64) -> Zeroizing<Vec<u64>> {
        let mut sum = self.enter(a);
        self.kernel
            .add_multiples(&mut sum, [(&self.enter(b), scale)]);
        sum
    }
}

/// Returns the kernels' modulus: `root`, or its square.
pub(crate) fn kernel_modulus(root: &[u64], is_square: bool) -> Result<Modulus> {
    let backend = Backend::current();
    let modulus = if is_square {
        Modulus::of_square(backend, root)
    } else {
        Modulus::new(backend, root)
    };

    modulus.map_err(|error| Error::Malformed {
        what: "modulus",
        found: error.to_string(),
        expected: "an odd modulus that the kernels support".to_owned(),
    })
}

impl Drop for Residues {
    fn drop(&mut self) {
        self.modulus.zeroize();
    }
}

/// Returns 1/a modulo 2^(64·`count`), for odd words a.
pub(crate) fn inverse_of_words(a: &[u64], count: usize) -> Zeroizing<Vec<u64>> {
    // a·a is 1 modulo 8, and each step doubles the number of correct bits.
    let mut inverse = low_product(a, &[1], count);
    let mut bits = 3;
    while bits < 64 * count {
        let mut step = low_product(a, &inverse, count);
        negate(&mut step);
        add_small(&mut step, 2);
        inverse = low_product(&inverse, &step, count);
        bits *= 2;
    }
    inverse
}

/// Returns the lowest `count` words of a product.
pub(crate) fn low_product(a: &[u64], b: &[u64], count: usize) -> Zeroizing<Vec<u64>> {
    let mut product = Zeroizing::new(vec![0u64; count]);
    for (i, &a) in a.iter().take(count).enumerate() {
        let mut carry = 0u128;
        let factors = b.iter().copied().chain(std::iter::repeat(0));
        for (out, b) in product[i..].iter_mut().zip(factors) {
            carry += u128::from(a) * u128::from(b) + u128::from(*out);
            *out = carry as u64;
            carry >>= 64;
        }
    }
    product
}

/// Replaces a number by its negative modulo the power of two of its length.
fn negate(words: &mut [u64]) {
    words.iter_mut().for_each(|word| *word = !*word);
    add_small(words, 1);
}

/// Adds a word, modulo the power of two of the number's length.
fn add_small(words: &mut [u64], addend: u64) {
    let mut carry = addend;
    for word in words {
        let (sum, over) = word.overflowing_add(carry);
        *word = sum;
        carry = over.into();
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
        // 2⁶⁴ + 13 is the smallest prime above 2⁶⁴.
        let prime = from_words(&[13, 1]);
        for residues in [
            Residues::public(prime.clone()).unwrap(),
            Residues::of_prime(&prime, 1).unwrap(),
        ] {
            let m = (1u128 << 64) + 13;
            let of = |x: u128| residues.resize(&BoxedUint::from(x));
            let a = m - 3;
            let b = m / 2;

            assert_eq!(residues.add(&of(a), &of(b)), of((a + b) % m));
            assert_eq!(residues.subtract(&of(b), &of(a)), of((m + b - a) % m));
            assert_eq!(residues.multiply(&of(3), &of(b)), of(3 * b % m));
            assert_eq!(
                residues.reduce(&from_words(&[0, 0, 1, 0])),
                of(13 * 13),
                "2^128"
            );
            assert_eq!(residues.inverse(&of(2)), Some(of(m.div_ceil(2))));
            assert_eq!(residues.inverse(&of(0)), None);
        }

        assert!(Residues::public(from_words(&[4])).is_err());
    }

    #[test]
    fn powers_of_a_prime_have_inverses_except_of_multiples() {
        let prime = from_words(&[13, 1]);
        for power in 1..=4 {
            let secret = Residues::of_prime(&prime, power).unwrap();
            let public = Residues::public(secret.modulus().clone()).unwrap();
            let number = public.reduce(&from_words(&[3, 1 << 63, 5, 7, 11, 13, 17, 19, 23]));

            assert_eq!(secret.reduce(&number), number);
            assert_eq!(secret.inverse(&number), public.inverse(&number), "{power}");
            assert_eq!(secret.inverse(&secret.reduce(&prime)), None, "{power}");
        }

        // 21 is not prime: its totient is not 20.
        let composite = Residues::of_prime(&from_words(&[21]), 1).unwrap();
        assert_eq!(composite.inverse(&from_words(&[2])), None);
    }

    #[test]
    fn division_by_words_is_exact() {
        let divisor = [0x1234_5678_9abc_def1, u64::MAX];
        let quotient = [3, 1 << 63, 77];
        let product = low_product(&divisor, &quotient, 5);
        let inverse = inverse_of_words(&divisor, 3);

        assert_eq!(low_product(&divisor, &inverse, 3)[..], [1, 0, 0]);
        assert_eq!(low_product(&product, &inverse, 3)[..], quotient);
    }

    #[test]
    fn powers_are_exact() {
        let base = from_words(&[u64::MAX]);
        assert_eq!(to_words(&integer_power(&base, 2), 2), [1, u64::MAX - 1]);
        assert_eq!(integer_power(&base, 1), base);
    }
}
