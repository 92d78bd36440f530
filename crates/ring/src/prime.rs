//! Primes and roots of unity for the negacyclic number-theoretic transform.

use papir_kernels::wide;

/// base^exponent for a modulus from 1 to 2³². Not for secrets: the time depends on the exponent.
///
/// # Panics
/// If the modulus is outside this range.
pub fn pow_mod(base: u64, exponent: u64, modulus: u64) -> u64 {
    assert!(
        (1..=1 << 32).contains(&modulus),
        "modulus {modulus}: expected 1 to 2^32"
    );

    let mut square = base % modulus;
    let mut result = 1 % modulus;
    let mut left = exponent;
    while left > 0 {
        if left & 1 == 1 {
            result = result * square % modulus;
        }
        square = square * square % modulus;
        left >>= 1;
    }

    result
}

/// 1/a modulo a prime below 2³², by Fermat's little theorem; 0 for a = 0.
///
/// # Panics
/// If the modulus is 0 or 1.
pub fn inverse_mod(a: u64, prime: u64) -> u64 {
    assert!(prime >= 2, "modulus {prime}: expected a prime");
    pow_mod(a, prime - 2, prime)
}

/// A primitive `order`-th root of unity modulo a prime, for an order that is a power of two.
///
/// Returns `None` if `order` does not divide `prime` − 1. The root is a power of the smallest base
/// that gives one, so all parties find the same root.
pub fn primitive_root(prime: u32, order: usize) -> Option<u32> {
    root(prime.into(), order as u64, pow_mod).map(|root| root as u32)
}

/// [`primitive_root`] modulo a prime of up to 64 bits.
pub fn wide_primitive_root(prime: u64, order: usize) -> Option<u64> {
    root(prime, order as u64, wide::pow)
}

/// [`primitive_root`] with powers by `pow(base, exponent, prime)`.
fn root(prime: u64, order: u64, pow: impl Fn(u64, u64, u64) -> u64) -> Option<u64> {
    if prime < 2 || order < 2 || !(prime - 1).is_multiple_of(order) {
        return None;
    }

    // For a power of two, a root is primitive if its half power is −1.
    (2..prime)
        .map(|base| pow(base, (prime - 1) / order, prime))
        .find(|&root| pow(root, order / 2, prime) == prime - 1)
}

/// The `count` largest primes below 2^`bits` that are 1 modulo 2d, largest first, or all of them if
/// there are fewer.
///
/// `bits` is clamped to 2 to 31. Uses trial division, which is meant for setup.
pub fn ntt_primes(bits: u32, d: usize, count: usize) -> Vec<u32> {
    ntt_primes_below(1 << bits.clamp(2, 31), d, count)
}

/// [`ntt_primes`] below any bound from 2 to 2³¹.
pub fn ntt_primes_below(bound: u32, d: usize, count: usize) -> Vec<u32> {
    let step = 2 * d.max(1) as u64;
    let top = (u64::from(bound.max(2)) - 2) / step * step + 1;
    // `top` is the largest number below the bound that is 1 modulo 2d. The number 1 is left out.
    let candidates =
        std::iter::successors(Some(top), |q| q.checked_sub(step)).take_while(|&q| q > step);
    candidates
        .filter(|&q| is_prime(q))
        .take(count)
        .map(|q| q as u32)
        .collect()
}

/// Returns true if n is prime, by trial division.
pub fn is_prime(n: u64) -> bool {
    n >= 2 && (2..=n.isqrt()).all(|f| !n.is_multiple_of(f))
}

/// Returns true if a modulus is an odd prime below 2²⁸, as the ring needs.
pub(crate) fn is_ntt_prime(prime: u32) -> bool {
    (3..1 << 28).contains(&prime) && is_prime(prime.into())
}

/// The inverses of words modulo a prime below 2³², or `None` if a word is zero. Not for secrets.
///
/// Montgomery's trick: three products per word and one inversion.
pub fn invert_all(words: &[u32], prime: u32) -> Option<Vec<u32>> {
    let prime = u64::from(prime);

    let mut products = Vec::with_capacity(words.len());
    let mut product = 1;
    for &word in words {
        products.push(product as u32);
        product = product * u64::from(word) % prime;
    }
    if product == 0 {
        return None;
    }

    let mut inverse = inverse_mod(product, prime);
    // From the last word back: `inverse` is 1 over the product of the words up to this one.
    for (product, &word) in products.iter_mut().zip(words).rev() {
        *product = (u64::from(*product) * inverse % prime) as u32;
        inverse = inverse * u64::from(word) % prime;
    }

    Some(products)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn primes_have_their_roots() {
        for d in [16, 1024, 65536] {
            for q in ntt_primes(28, d, 3) {
                let root = primitive_root(q, 2 * d).unwrap();
                assert_eq!(pow_mod(root.into(), d as u64, q.into()), u64::from(q) - 1);
            }
        }

        assert_eq!(ntt_primes(28, 2048, 1), [268_369_921]);
        assert_eq!(primitive_root(97, 64), None);
    }

    #[test]
    fn inverses() {
        for a in 1..97 {
            assert_eq!(a * inverse_mod(a, 97) % 97, 1);
        }
        let words = [5, 1, 96, 50];
        let inverses = invert_all(&words, 97).unwrap();

        assert!(
            words
                .iter()
                .zip(&inverses)
                .all(|(word, inverse)| word * inverse % 97 == 1),
            "{inverses:?}"
        );
        assert!(invert_all(&[3, 0, 5], 97).is_none() && invert_all(&[], 97) == Some(Vec::new()));
    }
}
