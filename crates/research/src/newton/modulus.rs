//! The modulus n, and arithmetic modulo it for many numbers at a time.
//!
//! *Integers* are little-endian words. *Elements* are residues in the representation of
//! [`papir_kernels::bigint_mod`].

use crypto_bigint::{BoxedUint, Odd};
use papir_core::{Error, Result};
use papir_kernels::{Backend, bigint_mod};
use papir_paillier as paillier;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// Name of a modulus in errors.
const WHAT: &str = "newton's modulus";

/// The modulus n.
pub struct Modulus {
    words: Vec<u64>,
    wide: bigint_mod::Modulus,
}

impl Modulus {
    /// Checks and creates a modulus of exactly `bits` bits, a multiple of 128 and at least 256. It
    /// must be odd, neither prime nor square, and without prime factors below 2¹⁶.
    ///
    /// # Errors
    /// [`Error::Malformed`] with the violated condition.
    pub fn new(bits: u32, words: &[u64]) -> Result<Self> {
        let params = paillier::Params::insecure(bits, 1)
            .map_err(|error| refused(bits, error.to_string()))?;
        paillier::PublicKey::check(&params, words).map_err(|error| match error {
            paillier::Error::Modulus { found } => {
                let found = format!("a number {found}");
                refused(bits, found.trim_end_matches(',').to_owned())
            }
            other => refused(bits, other.to_string()),
        })?;
        Self::unchecked(words)
    }

    /// Creates a modulus that is odd and above 2, without further checks, to analyse received
    /// queries.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the modulus is even or below 3.
    pub fn unchecked(words: &[u64]) -> Result<Self> {
        let wide = bigint_mod::Modulus::new(Backend::current(), words)
            .map_err(|error| Error::malformed(WHAT, error, "an odd number"))?;
        Ok(Self {
            words: words.to_vec(),
            wide,
        })
    }

    /// n as an integer.
    pub fn integer(&self) -> &[u64] {
        &self.words
    }

    /// Words of an integer below n.
    pub fn words(&self) -> usize {
        self.wide.words()
    }

    /// Words of an element.
    pub fn limbs(&self) -> usize {
        self.wide.limbs()
    }

    /// Arithmetic with elements.
    pub fn wide(&self) -> &bigint_mod::Modulus {
        &self.wide
    }

    /// Converts integers of `words` words each to elements.
    ///
    /// # Panics
    /// If `integers` is not a whole number of integers, or `words` is 0.
    pub fn enter(&self, integers: &[u64], words: usize) -> Vec<u64> {
        let mut elements = vec![0; integers.len() / words * self.limbs()];
        self.wide.enter(integers, words, &mut elements);
        elements
    }

    /// Converts elements to integers below n.
    pub fn leave(&self, elements: &[u64]) -> Vec<u64> {
        let mut integers = vec![0; elements.len() / self.limbs() * self.words()];
        self.wide.leave(elements, &mut integers);
        integers
    }

    /// Converts a small integer to an element.
    pub fn small(&self, number: u64) -> Vec<u64> {
        self.enter(&[number], 1)
    }

    /// Returns `count` elements that are 0.
    pub fn zeros(&self, count: usize) -> Vec<u64> {
        vec![0; count * self.limbs()]
    }

    /// Returns a·b, element by element.
    pub fn product(&self, a: &[u64], b: &[u64]) -> Vec<u64> {
        let mut product = a.to_vec();
        self.wide.multiply(&mut product, b);
        product
    }

    /// Returns the sum of elements, each times a small factor.
    pub fn sum<'a>(&self, terms: impl IntoIterator<Item = (&'a [u64], i64)>) -> Vec<u64> {
        let mut sum = self.zeros(1);
        for term in terms {
            self.wide.add_multiples(&mut sum, [term]);
        }
        sum
    }

    /// Returns uniformly random elements, up to a bias of 2⁻¹²⁸.
    pub fn random(&self, count: usize, rng: &mut dyn CryptoRng) -> Zeroizing<Vec<u64>> {
        // 128 bits more than n has: the residues of so long a number are uniform up to 2^-128.
        let words = self.words() + 2;
        let mut bytes = Zeroizing::new(vec![0; 8 * words * count]);
        rng.fill_bytes(&mut bytes);
        let integers = Zeroizing::new(words_of(&bytes));
        Zeroizing::new(self.enter(&integers, words))
    }

    /// Returns 1/a for an element a. The running time depends only on the length of n.
    ///
    /// # Errors
    /// [`Error::Malformed`] if there is no inverse, because n has a small factor.
    pub fn inverse(&self, a: &[u64]) -> Result<Vec<u64>> {
        let [modulus, a] = [&self.words, &self.leave(a)].map(|words| number(words));
        let modulus = Odd::new(modulus).into_option().ok_or_else(no_inverse)?;
        let inverse = a
            .invert_odd_mod(&modulus)
            .into_option()
            .ok_or_else(no_inverse)?;
        Ok(self.enter(&words_of(&inverse.to_le_bytes()), self.words()))
    }

    /// Returns the lowest N words of ⌊a·2^(64·N)/n⌋ for an element a.
    pub(super) fn fraction<const N: usize>(&self, a: &[u64]) -> [u64; N] {
        // N zero words below a make it a·2^(64·N). As many above n give both numbers one length.
        let shifted = [vec![0; N], self.leave(a)].concat();
        let modulus = number(&[&self.words[..], &[0; N]].concat());
        let mut out = [0; N];

        // Always `Some`: n is odd, so not 0.
        if let Some(modulus) = modulus.to_nz().into_option() {
            let quotient = number(&shifted).div_rem_vartime(&modulus).0;
            for (out, word) in out.iter_mut().zip(words_of(&quotient.to_le_bytes())) {
                *out = word;
            }
        }
        out
    }
}

fn refused(bits: u32, found: String) -> Error {
    Error::malformed(
        WHAT,
        found,
        format!("a product of two primes of {} bits", bits / 2),
    )
}

fn no_inverse() -> Error {
    Error::malformed(
        WHAT,
        "one with a small factor",
        "a product of two large primes",
    )
}

/// Converts words to a big integer.
pub(super) fn number(words: &[u64]) -> BoxedUint {
    let bytes: Zeroizing<Vec<u8>> =
        Zeroizing::new(words.iter().flat_map(|word| word.to_le_bytes()).collect());
    BoxedUint::from_le_slice_truncated(&bytes, 8 * bytes.len() as u32)
}

/// Converts bytes to little-endian words, the last one padded with zeros.
pub(super) fn words_of(bytes: &[u8]) -> Vec<u64> {
    bytes
        .chunks(8)
        .map(|bytes| {
            bytes
                .iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u64::from(*byte))
        })
        .collect()
}

/// Converts words to little-endian bytes.
pub(super) fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
