//! Secret keys (section 3.1, `KeyGen`).

use std::sync::Arc;

use crypto_bigint::{BoxedUint, ConcatenatingMul};
use crypto_primes::Flavor;
use crypto_primes::hazmat::{SetBits, SmallFactorsSieveFactory};
use papir_core::{Error, Result};
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::modulus::{Modulus, words_of};

/// The modulus n, and the exponent d with 3·d ≡ 1 modulo φ(n), which computes cube roots. Erased on
/// drop.
pub struct SecretKey {
    modulus: Arc<Modulus>,
    exponent: Zeroizing<Vec<u64>>,
}

impl SecretKey {
    /// Generates a key: two primes of `bits`/2 bits that are 2 modulo 3, and d = 3⁻¹ modulo φ(n).
    ///
    /// # Errors
    /// [`Error::Malformed`] for sizes that [`Modulus::new`] refuses.
    pub fn generate(bits: u32, rng: &mut dyn CryptoRng) -> Result<Self> {
        let mut rng = SecretRng::new(rng);
        loop {
            let p = prime(bits / 2, &mut rng)?;
            let q = prime(bits / 2, &mut rng)?;
            if *p == *q {
                continue;
            }

            let modulus = Modulus::new(bits, &words_of(&p.concatenating_mul(&*q).to_le_bytes()))?;

            let one = BoxedUint::one_with_precision(p.bits_precision());
            let [p, q] = [p, q].map(|prime| Zeroizing::new(prime.wrapping_sub(&one)));
            // φ(n) is (p − 1)·(q − 1). Both primes are 2 modulo 3, so it is 1 modulo 3, as `third`
            // needs.
            let order = Zeroizing::new(p.concatenating_mul(&*q));
            let exponent = third(&Zeroizing::new(words_of(&order.to_le_bytes())));

            return Ok(Self {
                modulus: Arc::new(modulus),
                exponent,
            });
        }
    }

    /// Creates a key from n and d.
    ///
    /// # Errors
    /// [`Error::Malformed`] unless d computes cube roots modulo n.
    pub fn from_parts(modulus: Arc<Modulus>, exponent: &[u64]) -> Result<Self> {
        let key = Self {
            modulus,
            exponent: Zeroizing::new(exponent.to_vec()),
        };

        let [two, eight] = [2, 8].map(|number| key.modulus.small(number));
        if key.modulus.leave(&key.cube_roots(&eight)) != key.modulus.leave(&two) {
            return Err(Error::malformed(
                "newton's secret key",
                "another exponent",
                "1/3 modulo φ(n)",
            ));
        }

        Ok(key)
    }

    /// The modulus n.
    pub fn modulus(&self) -> &Arc<Modulus> {
        &self.modulus
    }

    /// The exponent d, with as many words as n.
    pub fn exponent(&self) -> &[u64] {
        &self.exponent
    }

    /// Returns the cube root of each element.
    pub fn cube_roots(&self, elements: &[u64]) -> Zeroizing<Vec<u64>> {
        let mut roots = Zeroizing::new(elements.to_vec());
        self.modulus
            .wide()
            // All bits of the exponent's words are used, so that the time does not tell how long d
            // is.
            .power(&mut roots, &self.exponent, 64 * self.exponent.len());
        roots
    }
}

/// Returns a random prime of exactly `bits` bits that is 2 modulo 3 and has its top two bits set.
fn prime(bits: u32, rng: &mut SecretRng) -> Result<Zeroizing<BoxedUint>> {
    let sieve = SmallFactorsSieveFactory::<BoxedUint>::new(Flavor::Any, bits, SetBits::TwoMsb);
    let sieve = sieve.map_err(|_| no_primes(bits))?;
    let found =
        crypto_primes::sieve_and_find(rng, sieve, |_: &mut SecretRng, candidate: &BoxedUint| {
            is_prime_two_modulo_three(candidate)
        });

    let found = found.map_err(|_| no_primes(bits))?;
    Ok(Zeroizing::new(found.ok_or_else(|| no_primes(bits))?))
}

fn is_prime_two_modulo_three(candidate: &BoxedUint) -> bool {
    // 2⁶⁴ is 1 modulo 3, so the sum of the words is congruent to the candidate.
    let words = Zeroizing::new(words_of(&candidate.to_le_bytes()));
    let rest = words.iter().map(|word| word % 3).sum::<u64>() % 3;
    rest == 2 && crypto_primes::is_prime(Flavor::Any, candidate)
}

fn no_primes(bits: u32) -> Error {
    Error::malformed(
        "the length of newton's primes",
        bits,
        "a length for which primes exist",
    )
}

/// Returns 1/3 modulo φ for a φ that is 1 modulo 3: (2φ + 1)/3, which is below φ.
fn third(order: &[u64]) -> Zeroizing<Vec<u64>> {
    let mut out = Zeroizing::new(vec![0; order.len()]);
    // Long division of 2φ + 1: φ is shifted by one bit as its words are read, and the last word
    // gets the one.
    let mut rest = order.last().map_or(0, |top| u128::from(top >> 63));

    for k in (0..order.len()).rev() {
        let below = if k == 0 { 1 } else { order[k - 1] >> 63 };
        let dividend = rest << 64 | u128::from(order[k] << 1 | below);
        out[k] = (dividend / 3) as u64;
        rest = dividend % 3;
    }
    out
}
