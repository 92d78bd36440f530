//! Secret keys: decryption and fast encryption by the Chinese remainder theorem.

use crypto_bigint::{BoxedUint, ConcatenatingMul};
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use crate::batch::Batch;
use crate::ciphertext::{Ciphertext, Plaintext};
use crate::error::{Error, Result};
use crate::integer::{Residues, from_words, inverse_of_words, low_product, to_words};
use crate::keygen::{far_apart, random_primes};
use crate::params::Params;
use crate::public::PublicKey;

/// The two prime factors of a modulus with derived values. Erased on drop, never printed.
///
/// Operations take the same time for all keys and plaintexts of a size, except for rejected
/// candidates when randomness is drawn. Temporary copies inside primality tests of `crypto-primes`,
/// when a key is generated, are not erased.
pub struct SecretKey {
    public: PublicKey,
    p: Half,
    q: Half,
    /// p⁻ˢ modulo qˢ.
    plain_inverse: Zeroizing<BoxedUint>,
    /// p⁻⁽ˢ⁺¹⁾ modulo qˢ⁺¹.
    cipher_inverse: Zeroizing<BoxedUint>,
}

/// Arithmetic modulo powers of one prime factor p of m.
struct Half {
    prime: Zeroizing<BoxedUint>,
    /// 1/p modulo the power of two of the length of pˢ.
    words_inverse: Zeroizing<Vec<u64>>,
    /// p in the length of pˢ.
    plain_prime: Zeroizing<BoxedUint>,
    /// pˢ.
    plain: Residues,
    /// pˢ⁺¹.
    cipher: Residues,
    batch: Batch,
    /// p − 1.
    order: Zeroizing<Vec<u64>>,
    /// 1/2 and 1/3 modulo pˢ.
    fractions: [BoxedUint; 2],
    /// 1/((p − 1)·L(1 + m)) modulo pˢ.
    scale: Zeroizing<BoxedUint>,
}

impl Half {
    /// Creates the arithmetic for p; m = p·`other`.
    fn new(params: &Params, prime: &BoxedUint, other: &BoxedUint) -> Result<Self> {
        let plain = Residues::of_prime(prime, params.s())?;
        let cipher = Residues::of_prime(prime, params.s() + 1)?;
        let one = BoxedUint::one_with_precision(prime.bits_precision());
        let order = Zeroizing::new(prime.wrapping_sub(&one));
        let words = Zeroizing::new(to_words(prime, params.prime_words()));

        // The scale follows last: its logarithm needs the other fields.
        let mut half = Self {
            prime: Zeroizing::new(prime.clone()),
            words_inverse: inverse_of_words(&words, plain.words()),
            plain_prime: Zeroizing::new(plain.resize(prime)),
            batch: Batch::of_power(prime, params.s() + 1)?,
            order: Zeroizing::new(to_words(&order, params.prime_words())),
            fractions: [
                inverse(&plain, &plain.small(2))?,
                inverse(&plain, &plain.small(3))?,
            ],
            scale: Zeroizing::new(plain.small(1)),
            plain,
            cipher,
        };

        // The smaller prime is its own residue modulo the larger one.
        let residue = Zeroizing::new(half.plain.reduce(other));
        let generator = Zeroizing::new(half.logarithm_of(&residue));
        let denominator =
            Zeroizing::new(half.plain.multiply(&half.plain.resize(&order), &generator));
        half.scale = Zeroizing::new(inverse(&half.plain, &denominator)?);
        Ok(half)
    }

    /// Returns L(1 + p·w) modulo pˢ: the logarithm of 1 + p·w modulo pˢ⁺¹ divided by p, by its
    /// series w − p·w²/2 + p²·w³/3. L is a homomorphism on the units that are 1 modulo p.
    fn logarithm_of(&self, w: &BoxedUint) -> BoxedUint {
        let plain = &self.plain;

        // Modulo p itself, all terms but the first vanish.
        if plain.words() == self.order.len() {
            return w.clone();
        }

        let multiple = Zeroizing::new(plain.multiply(w, &self.plain_prime));
        let [half, third] = &self.fractions;

        // Horner's form of the series: w·(1 + p·w·(p·w/3 − 1/2)).
        let inner = Zeroizing::new(plain.multiply(&multiple, third));
        let inner = Zeroizing::new(plain.subtract(&inner, half));
        let inner = Zeroizing::new(plain.multiply(&inner, &multiple));
        let inner = Zeroizing::new(plain.add(&inner, &plain.small(1)));
        plain.multiply(w, &inner)
    }

    /// Returns the plaintext modulo pˢ: L(c^(p−1)) divided by L((1 + m)^(p−1)).
    ///
    /// c^(p−1) is 1 modulo p, and its randomness r^(mˢ) cancels: mˢ·(p − 1) is a multiple of
    /// pˢ·(p − 1), the order of the units modulo pˢ⁺¹.
    fn decrypt(&self, power: &[u64]) -> Zeroizing<BoxedUint> {
        let power = Zeroizing::new(from_words(power));
        let multiple = Zeroizing::new(power.wrapping_sub(self.cipher.small(1)));
        let multiple = Zeroizing::new(to_words(&multiple, self.cipher.words()));

        // The division by p is exact, since c^(p−1) − 1 is a multiple of p: a product with the
        // inverse modulo a power of two.
        let length = self.plain.words();
        let w = low_product(&multiple, &self.words_inverse, length);
        let w = Zeroizing::new(from_words(&w));

        let logarithm = Zeroizing::new(self.logarithm_of(&w));
        Zeroizing::new(self.plain.multiply(&logarithm, &self.scale))
    }

    /// Returns c^(p−1) modulo pˢ⁺¹ for each ciphertext, in words.
    fn powers(&self, ciphertexts: &[Ciphertext]) -> Zeroizing<Vec<u64>> {
        let words: Vec<u64> = ciphertexts
            .iter()
            .flat_map(Ciphertext::words)
            .copied()
            .collect();

        // p has half the words of m, so ciphertexts have twice the words of a residue mod pˢ⁺¹.
        self.batch
            .powers_of_integers(&words, 2 * self.cipher.words(), &self.order)
    }

    /// Draws uniform mˢ-th powers modulo pˢ⁺¹, in words. They are the pˢ-th powers of the nonzero
    /// residues modulo p, since q is coprime to p − 1.
    fn random_powers(&self, count: usize, rng: &mut dyn CryptoRng) -> Result<Zeroizing<Vec<u64>>> {
        let words = self.cipher.words();
        let prime = Residues::of_prime(&self.prime, 1)?;

        // Allocated in full: a reallocation would leave copies of the bases behind.
        let mut bases = Zeroizing::new(Vec::with_capacity(words * count));
        for _ in 0..count {
            let base = Zeroizing::new(prime.random_nonzero(rng));
            bases.extend_from_slice(&Zeroizing::new(to_words(&base, words)));
        }

        let exponent = Zeroizing::new(to_words(self.plain.modulus(), self.plain.words()));
        Ok(self.batch.powers(&bases, &exponent))
    }
}

/// Returns whether 2^(p−1) is 1 modulo p, for odd p.
fn passes_fermat(params: &Params, p: &BoxedUint) -> Result<bool> {
    let words = params.prime_words();
    let mut two = vec![0; words];
    two[0] = 2;

    // p is odd, so that p − 1 is p without its lowest bit.
    let mut order = Zeroizing::new(to_words(p, words));
    order[0] &= !1;
    let power = Batch::of_power(p, 1)?.powers(&two, &order);
    Ok(power[0] == 1 && power[1..].iter().all(|&word| word == 0))
}

/// Returns 1/a modulo a power of a prime factor.
fn inverse(residues: &Residues, a: &BoxedUint) -> Result<BoxedUint> {
    residues
        .inverse(a)
        .ok_or_else(|| Error::primes("have no inverses"))
}

/// Returns the inverse of the modulus of `p` modulo the modulus of `q`.
fn inverse_modulus(p: &Residues, q: &Residues) -> Result<Zeroizing<BoxedUint>> {
    let reduced = Zeroizing::new(q.reduce(p.modulus()));
    q.inverse(&reduced)
        .map(Zeroizing::new)
        .ok_or_else(|| Error::primes("have a common factor"))
}

/// Returns the number below p·q that is a modulo p and b modulo q; `inverse` is 1/p modulo q.
fn combine(
    p: &Residues,
    a: &BoxedUint,
    q: &Residues,
    b: &BoxedUint,
    inverse: &BoxedUint,
) -> Zeroizing<BoxedUint> {
    let difference = Zeroizing::new(q.subtract(b, &Zeroizing::new(q.reduce(a))));
    let multiple = Zeroizing::new(q.multiply(&difference, inverse));

    // a is below p and the multiple below q, so the sum is at most p·q − 1 and does not wrap.
    let mut number = Zeroizing::new(p.modulus().concatenating_mul(&*multiple));
    number.wrapping_add_assign(a);
    number
}

/// Checks all conditions on the factors of a key except primality.
fn check_primes(params: &Params, p: &BoxedUint, q: &BoxedUint) -> Result<()> {
    let bits = params.modulus_bits() / 2;

    if !(has_top_bits(p, bits) && has_top_bits(q, bits)) {
        return Err(Error::primes("are too small"));
    }
    if !bool::from(p.bit(0)) || !bool::from(q.bit(0)) {
        return Err(Error::primes("are even"));
    }
    if !bool::from(far_apart(p, q, bits)) {
        return Err(Error::primes("are too close to each other"));
    }
    Ok(())
}

/// Returns whether the top two of `bits` bits are set.
fn has_top_bits(prime: &BoxedUint, bits: u32) -> bool {
    bool::from(prime.bit(bits - 1)) && bool::from(prime.bit(bits - 2))
}

impl SecretKey {
    /// Generates a key; this takes seconds at 3,072 bits.
    ///
    /// # Errors
    /// [`Error::Primes`] if no primes are found, which does not happen in practice.
    pub fn generate(params: Params, rng: &mut dyn CryptoRng) -> Result<Self> {
        let [p, q] = random_primes(&params, &mut SecretRng::new(rng))?;
        Self::from_numbers(params, &p, &q)
    }

    /// Creates the key of two primes read from storage.
    pub(crate) fn from_primes(params: Params, p: BoxedUint, q: BoxedUint) -> Result<Self> {
        let p = Zeroizing::new(p);
        let q = Zeroizing::new(q);
        check_primes(&params, &p, &q)?;

        // First: inverses modulo a number that is not prime would be wrong. Only Fermat's test: the
        // search of a Lucas sequence takes time that depends on the prime.
        if !(passes_fermat(&params, &p)? && passes_fermat(&params, &q)?) {
            return Err(Error::primes("are not prime"));
        }
        Self::from_numbers(params, &p, &q)
    }

    fn from_numbers(params: Params, p: &BoxedUint, q: &BoxedUint) -> Result<Self> {
        let public = PublicKey::from_checked(params, p.concatenating_mul(q))?;
        let p_half = Half::new(&params, p, q)?;
        let q_half = Half::new(&params, q, p)?;

        let plain_inverse = inverse_modulus(&p_half.plain, &q_half.plain)?;
        let cipher_inverse = inverse_modulus(&p_half.cipher, &q_half.cipher)?;
        Ok(Self {
            public,
            p: p_half,
            q: q_half,
            plain_inverse,
            cipher_inverse,
        })
    }

    /// The public key.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    pub(crate) fn primes(&self) -> [&BoxedUint; 2] {
        [&self.p.prime, &self.q.prime]
    }

    /// Decrypts a ciphertext.
    pub fn decrypt(&self, ciphertext: &Ciphertext) -> Plaintext {
        let mut plaintexts = self.decrypt_many(std::slice::from_ref(ciphertext));
        plaintexts.swap_remove(0)
    }

    /// Decrypts ciphertexts, several at a time if the processor can, which is cheaper than one by
    /// one.
    ///
    /// Batches of [`crate::LANES`] gain the full speed, so callers who show progress or use several
    /// threads can split their slices.
    pub fn decrypt_many(&self, ciphertexts: &[Ciphertext]) -> Vec<Plaintext> {
        let p = self.p.powers(ciphertexts);
        let q = self.q.powers(ciphertexts);

        let powers = p
            .chunks(self.p.cipher.words())
            .zip(q.chunks(self.q.cipher.words()));
        powers
            .map(|(p, q)| self.combine_plain(&self.p.decrypt(p), &self.q.decrypt(q)))
            .collect()
    }

    fn combine_plain(&self, p: &BoxedUint, q: &BoxedUint) -> Plaintext {
        let number = combine(&self.p.plain, p, &self.q.plain, q, &self.plain_inverse);
        Plaintext::new(to_words(&number, self.public.params().plaintext_words()))
    }

    /// Encrypts with the same distribution as [`PublicKey::encrypt`], about ten times faster.
    ///
    /// # Errors
    /// None for keys made by this crate.
    pub fn encrypt_many(
        &self,
        plaintexts: &[Plaintext],
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Ciphertext>> {
        let p = &self.p;
        let q = &self.q;
        let rng = &mut SecretRng::new(rng);
        let p_powers = p.random_powers(plaintexts.len(), rng)?;
        let q_powers = q.random_powers(plaintexts.len(), rng)?;

        let powers = p_powers
            .chunks(p.cipher.words())
            .zip(q_powers.chunks(q.cipher.words()));
        // By the Chinese remainder theorem, independent powers modulo both are one uniform power
        // modulo mˢ⁺¹.
        let mut ciphertexts = Vec::with_capacity(plaintexts.len());
        for (plaintext, (a, b)) in plaintexts.iter().zip(powers) {
            let a = Zeroizing::new(from_words(a));
            let b = Zeroizing::new(from_words(b));
            let power = combine(&p.cipher, &a, &q.cipher, &b, &self.cipher_inverse);
            ciphertexts.push(self.public.mask(plaintext, &power));
        }
        Ok(ciphertexts)
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        self.fractions.iter_mut().for_each(Zeroize::zeroize);
    }
}
