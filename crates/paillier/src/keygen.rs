//! Prime generation for secret keys.

use crypto_bigint::BoxedUint;
use crypto_primes::Flavor;
use crypto_primes::hazmat::{SetBits, SmallFactorsSieveFactory};
use papir_ring::prg::SecretRng;
use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::integer::to_words;
use crate::params::Params;

/// The first hundred leading bits of p and q must not all agree (FIPS 186-5, A.1.3).
const DISTANCE_BITS: u32 = 100;

/// Draws a prime of exactly `bits` bits with the top two bits set, so that the product of two such
/// primes has twice as many bits.
fn random_prime(bits: u32, rng: &mut SecretRng) -> Result<Zeroizing<BoxedUint>> {
    let sieve = SmallFactorsSieveFactory::<BoxedUint>::new(Flavor::Any, bits, SetBits::TwoMsb)
        .map_err(|_| not_found())?;
    let found = crypto_primes::sieve_and_find(rng, sieve, |_, candidate| {
        crypto_primes::is_prime(Flavor::Any, candidate)
    })
    .map_err(|_| not_found())?;
    Ok(Zeroizing::new(found.ok_or_else(not_found)?))
}

/// Error for a generator that gave up.
fn not_found() -> Error {
    Error::primes("cannot be found")
}

/// Draws two distant primes of half the modulus' size.
///
/// Two different primes p, q of the same size satisfy p ∤ q − 1 and q ∤ p − 1, so gcd(m, φ(m)) = 1.
pub(crate) fn random_primes(
    params: &Params,
    rng: &mut SecretRng,
) -> Result<[Zeroizing<BoxedUint>; 2]> {
    let bits = params.modulus_bits() / 2;
    loop {
        let p = random_prime(bits, rng)?;
        let q = random_prime(bits, rng)?;
        if bool::from(far_apart(&p, &q, bits)) {
            return Ok([p, q]);
        }
    }
}

/// Returns whether |p − q| ≥ 2^(bits − 100), or p ≠ q for numbers of at most 100 bits.
pub(crate) fn far_apart(p: &BoxedUint, q: &BoxedUint, bits: u32) -> Choice {
    // |p − q| is p − q or q − p, the one that does not wrap: both are tested, without a branch.
    let shift = bits.saturating_sub(DISTANCE_BITS);
    let is_zero = |a: &BoxedUint, b: &BoxedUint| {
        let difference = Zeroizing::new(Zeroizing::new(a.wrapping_sub(b)).shr(shift));
        let words = Zeroizing::new(to_words(&difference, bits.div_ceil(64) as usize));
        words.iter().fold(0, |or, word| or | word).ct_eq(&0)
    };
    !is_zero(p, q) & !is_zero(q, p)
}
