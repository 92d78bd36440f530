//! Public keys: encryption and homomorphic arithmetic.

use std::fmt;
use std::sync::Arc;

use crypto_bigint::BoxedUint;
use crypto_primes::Flavor;
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::batch::Batch;
use crate::ciphertext::{Ciphertext, Plaintext};
use crate::error::{Error, ModulusFault, Result};
use crate::integer::{self, Residues, from_words, to_words};
use crate::params::Params;
use crate::small_primes::smallest_factor;

/// A public key: the modulus m.
#[derive(Clone)]
pub struct PublicKey {
    inner: Arc<Inner>,
}

struct Inner {
    params: Params,
    modulus: BoxedUint,
    /// mˢ.
    plain: Residues,
    /// mˢ⁺¹.
    cipher: Residues,
    /// 1/2 … 1/s modulo mˢ⁺¹.
    fractions: Vec<BoxedUint>,
    batch: Batch,
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.inner.params == other.inner.params && self.inner.modulus == other.inner.modulus
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicKey")
            .field("params", &self.inner.params)
            .finish_non_exhaustive()
    }
}

/// Checks necessary conditions on a product of two large primes of the same size.
///
/// They do not determine the number of prime factors: a bad modulus harms only the privacy of its
/// owner.
fn check_modulus(params: &Params, modulus: &BoxedUint) -> Result<(), ModulusFault> {
    let found = modulus.bit_width_vartime();
    if found != params.modulus_bits() {
        return Err(ModulusFault::Bits {
            found,
            expected: params.modulus_bits(),
        });
    }

    match smallest_factor(modulus) {
        Some(2) => return Err(ModulusFault::Even),
        Some(factor) => return Err(ModulusFault::SmallFactor(factor)),
        None => {}
    }

    if modulus.checked_sqrt_vartime().is_some() {
        return Err(ModulusFault::Square);
    }
    if crypto_primes::is_prime(Flavor::Any, modulus) {
        return Err(ModulusFault::Prime);
    }
    Ok(())
}

/// Error for a ciphertext that is no residue.
fn no_ciphertext(found: &'static str) -> Error {
    Error::Residue {
        what: "the ciphertext",
        found,
        expected: "a residue between 0 and m^(s+1)",
    }
}

/// Error for a residue without an inverse.
fn no_unit(what: &'static str) -> Error {
    Error::Residue {
        what,
        found: "not coprime to m",
        expected: "a unit",
    }
}

impl PublicKey {
    /// Creates a key from a modulus that passes [`PublicKey::check`].
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Modulus`].
    pub fn new(params: Params, modulus: &[u64]) -> Result<Self> {
        Self::check(&params, modulus)?;
        Self::from_checked(params, from_words(modulus))
    }

    /// Checks a modulus of little-endian words: it must have the right size, be odd, have no prime
    /// factor below [`crate::TRIAL_BOUND`], and be neither a square nor a prime.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Modulus`].
    pub fn check(params: &Params, modulus: &[u64]) -> Result<()> {
        Error::check_length(
            "words of the modulus",
            modulus.len(),
            params.modulus_words(),
        )?;
        check_modulus(params, &from_words(modulus)).map_err(|found| Error::Modulus { found })
    }

    pub(crate) fn from_checked(params: Params, modulus: BoxedUint) -> Result<Self> {
        let plain = Residues::public(integer::integer_power(&modulus, params.s()))?;
        let cipher = Residues::public(integer::integer_power(&modulus, params.s() + 1))?;
        let batch = Batch::of_power(&modulus, params.s() + 1)?;

        let fractions = (2..=params.s().into()).map(|i| cipher.inverse(&cipher.small(i)));
        let Some(fractions) = fractions.collect::<Option<Vec<BoxedUint>>>() else {
            // The modulus is odd, and s at most 3.
            return Err(Error::Modulus {
                found: ModulusFault::SmallFactor(3),
            });
        };

        Ok(Self {
            inner: Arc::new(Inner {
                params,
                modulus,
                plain,
                cipher,
                fractions,
                batch,
            }),
        })
    }

    /// Modulus size and s.
    pub fn params(&self) -> &Params {
        &self.inner.params
    }

    /// m, in little-endian words.
    pub fn modulus(&self) -> Vec<u64> {
        to_words(&self.inner.modulus, self.params().modulus_words())
    }

    /// mˢ.
    pub(crate) fn plain(&self) -> &Residues {
        &self.inner.plain
    }

    /// mˢ⁺¹.
    pub(crate) fn cipher(&self) -> &Residues {
        &self.inner.cipher
    }

    /// Batched arithmetic modulo mˢ⁺¹.
    pub(crate) fn batch(&self) -> &Batch {
        &self.inner.batch
    }

    /// Creates a plaintext from at most [`Params::plaintext_words`] little-endian words.
    ///
    /// # Errors
    /// [`Error::Length`] for more words, [`Error::Residue`] for numbers from mˢ on.
    pub fn plaintext(&self, words: &[u64]) -> Result<Plaintext> {
        let expected = self.params().plaintext_words();
        if words.len() > expected {
            return Err(Error::Length {
                what: "words of a plaintext",
                found: words.len(),
                expected,
            });
        }

        let plaintext = Plaintext::new([words, &vec![0; expected - words.len()]].concat());
        let modulus = to_words(self.plain().modulus(), expected);
        if bool::from(integer::less(plaintext.words(), &modulus)) {
            return Ok(plaintext);
        }
        Err(Error::Residue {
            what: "the plaintext",
            found: "too large",
            expected: "a residue below m^s",
        })
    }

    /// Reduces a public number of any length modulo mˢ.
    pub fn reduce(&self, words: &[u64]) -> Plaintext {
        let residue = self.plain().reduce(&from_words(words));
        Plaintext::new(to_words(&residue, self.params().plaintext_words()))
    }

    /// Returns the sum of plaintexts modulo mˢ.
    pub fn plain_sum(&self, a: &Plaintext, b: &Plaintext) -> Plaintext {
        self.plain_residue(|a, b| self.plain().add(a, b), a, b)
    }

    /// Returns the difference of plaintexts modulo mˢ.
    pub fn plain_difference(&self, a: &Plaintext, b: &Plaintext) -> Plaintext {
        self.plain_residue(|a, b| self.plain().subtract(a, b), a, b)
    }

    /// Returns the result of an operation on plaintexts.
    fn plain_residue(
        &self,
        operation: impl Fn(&BoxedUint, &BoxedUint) -> BoxedUint,
        a: &Plaintext,
        b: &Plaintext,
    ) -> Plaintext {
        let a = Zeroizing::new(from_words(a.words()));
        let b = Zeroizing::new(from_words(b.words()));

        let result = Zeroizing::new(operation(&a, &b));
        Plaintext::new(to_words(&result, self.params().plaintext_words()))
    }

    /// Creates a ciphertext from exactly [`Params::ciphertext_words`] little-endian words: a
    /// nonzero residue modulo mˢ⁺¹.
    ///
    /// Units are not checked here. A residue with a factor in common with m reveals the factors of
    /// m, so only the owner of the secret key can make one, to their own harm.
    /// [`PublicKey::check_units`] detects them.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Residue`].
    pub fn ciphertext(&self, words: Vec<u64>) -> Result<Ciphertext> {
        Error::check_length(
            "words of a ciphertext",
            words.len(),
            self.params().ciphertext_words(),
        )?;

        if words.iter().all(|&word| word == 0) {
            return Err(no_ciphertext("zero"));
        }
        let modulus = to_words(self.cipher().modulus(), words.len());
        if bool::from(!integer::less(&words, &modulus)) {
            return Err(no_ciphertext("too large"));
        }
        Ok(Ciphertext::new(words))
    }

    /// Checks that all ciphertexts are units, with one multiplication each and one greatest common
    /// divisor.
    ///
    /// # Errors
    /// [`Error::Residue`].
    pub fn check_units(&self, ciphertexts: &[Ciphertext]) -> Result<()> {
        let modulus = Residues::public(self.inner.modulus.clone())?;
        let one = modulus.small(1);

        // A product is a unit only if all of its factors are.
        let product = ciphertexts.iter().fold(one, |product, ciphertext| {
            let reduced = modulus.reduce(&from_words(ciphertext.words()));
            modulus.multiply(&product, &reduced)
        });
        if modulus.inverse(&product).is_none() {
            return Err(no_unit("a ciphertext"));
        }
        Ok(())
    }

    /// Returns (1 + m)^μ modulo mˢ⁺¹, by the binomial series to degree s in Horner form:
    /// 1 + m·μ·(1 + m·(μ − 1)/2·(1 + m·(μ − 2)/3)).
    fn power_of_generator(&self, plaintext: &Plaintext) -> Zeroizing<BoxedUint> {
        let cipher = self.cipher();
        let modulus = cipher.resize(&self.inner.modulus);
        let plaintext = Zeroizing::new(cipher.resize(&from_words(plaintext.words())));

        let mut power = Zeroizing::new(cipher.small(1));
        for i in (1..=u64::from(self.params().s())).rev() {
            let factor = Zeroizing::new(cipher.subtract(&plaintext, &cipher.small(i - 1)));
            let factor = Zeroizing::new(cipher.multiply(&factor, &modulus));
            *power = cipher.multiply(&power, &factor);

            if i > 1 {
                // The fractions begin with 1/2, since the term of degree 1 has none.
                *power = cipher.multiply(&power, &self.inner.fractions[i as usize - 2]);
            }
            *power = cipher.add(&power, &cipher.small(1));
        }
        power
    }

    /// Returns (1 + m)^μ·`factor` for a plaintext μ.
    pub(crate) fn mask(&self, plaintext: &Plaintext, factor: &BoxedUint) -> Ciphertext {
        let power = self.power_of_generator(plaintext);
        self.to_ciphertext(&self.cipher().multiply(&power, factor))
    }

    fn to_ciphertext(&self, number: &BoxedUint) -> Ciphertext {
        Ciphertext::new(to_words(number, self.params().ciphertext_words()))
    }

    /// Encrypts: (1 + m)^μ · r^(mˢ) with a fresh r.
    pub fn encrypt(&self, plaintext: &Plaintext, rng: &mut dyn CryptoRng) -> Ciphertext {
        let mut ciphertexts = self.encrypt_many(std::slice::from_ref(plaintext), rng);
        ciphertexts.swap_remove(0)
    }

    /// [`PublicKey::encrypt`] for each plaintext, several at a time if the processor can. The owner
    /// of the secret key encrypts several times faster by
    /// [`SecretKey::encrypt_many`](crate::SecretKey::encrypt_many).
    pub fn encrypt_many(
        &self,
        plaintexts: &[Plaintext],
        rng: &mut dyn CryptoRng,
    ) -> Vec<Ciphertext> {
        let words = self.params().ciphertext_words();
        let mut rng = SecretRng::new(rng);

        // Allocated in full: a reallocation would leave copies of the bases behind.
        let mut bases = Zeroizing::new(Vec::with_capacity(words * plaintexts.len()));
        for _ in plaintexts {
            let base = Zeroizing::new(self.cipher().random_nonzero(&mut rng));
            bases.extend_from_slice(&Zeroizing::new(to_words(&base, words)));
        }

        self.encrypt_with_bases(plaintexts, &bases)
    }

    /// [`PublicKey::encrypt`] with a given r in little-endian words.
    ///
    /// Anyone who knows r can recover the plaintext, and an r must be used only once.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Residue`] if r is zero or not below mˢ⁺¹.
    pub fn encrypt_with(&self, plaintext: &Plaintext, randomness: &[u64]) -> Result<Ciphertext> {
        let checked = Zeroizing::new(self.ciphertext(randomness.to_vec())?.into_words());
        Ok(self
            .encrypt_with_bases(std::slice::from_ref(plaintext), &checked)
            .swap_remove(0))
    }

    fn encrypt_with_bases(&self, plaintexts: &[Plaintext], bases: &[u64]) -> Vec<Ciphertext> {
        let exponent = to_words(self.plain().modulus(), self.params().plaintext_words());
        let powers = self.batch().powers(bases, &exponent);

        let powers = powers.chunks(self.params().ciphertext_words());
        plaintexts
            .iter()
            .zip(powers)
            .map(|(plaintext, power)| self.mask(plaintext, &Zeroizing::new(from_words(power))))
            .collect()
    }

    /// Returns an encryption of the sum.
    pub fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Ciphertext {
        self.to_ciphertext(
            &self
                .cipher()
                .multiply(&from_words(a.words()), &from_words(b.words())),
        )
    }

    /// Returns an encryption of the difference, at the cost of an inversion.
    ///
    /// # Errors
    /// [`Error::Residue`] if `b` is not a unit.
    pub fn subtract(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        let Some(inverse) = self.cipher().inverse(&from_words(b.words())) else {
            return Err(no_unit("the subtracted ciphertext"));
        };
        Ok(self.to_ciphertext(&self.cipher().multiply(&from_words(a.words()), &inverse)))
    }

    /// Returns an encryption of the sum with a plaintext; the randomness is that of the ciphertext.
    pub fn add_plain(&self, ciphertext: &Ciphertext, plaintext: &Plaintext) -> Ciphertext {
        self.mask(plaintext, &from_words(ciphertext.words()))
    }

    /// Returns an encryption of the product with a number of little-endian words; the randomness is
    /// not refreshed.
    pub fn multiply_plain(&self, ciphertext: &Ciphertext, factor: &[u64]) -> Ciphertext {
        Ciphertext::new(self.batch().powers(ciphertext.words(), factor).to_vec())
    }
}
