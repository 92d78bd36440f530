//! BGV modulus switching in residues.

use papir_kernels::Backend;
use papir_kernels::pointwise::{self, Modulus};
use papir_ring::prime::inverse_mod;
use papir_ring::rns::product_mod;

/// Modulus switching that preserves a plaintext modulo t up to a factor (Brakerski, Gentry,
/// Vaikuntanathan 2011, in residues).
///
/// From Q to the product of its first primes, x becomes (x − t·u)/P with P the product of the other
/// primes and u = x/t modulo P, centred. The plaintext is divided by P modulo t; the coefficients
/// of each part grow by t·u/P, slightly above t/2 at most.
#[derive(Debug, Clone)]
pub struct Switch {
    backend: Backend,
    kept: Vec<Modulus>,
    /// Constants of each dropped prime.
    dropped: Vec<Dropped>,
    /// For each kept prime: P⁻¹, −t/p for each dropped p, t.
    weights: Vec<Vec<u32>>,
}

/// Constants of a dropped prime p.
#[derive(Debug, Clone)]
struct Dropped {
    modulus: Modulus,
    /// (t·P/p)⁻¹ mod p.
    inverse: u32,
    /// 1/p.
    reciprocal: f64,
}

impl Dropped {
    fn new(prime: u32, dropped: &[u32], plaintext: u32) -> Self {
        let mut others: Vec<u32> = dropped
            .iter()
            .copied()
            .filter(|&other| other != prime)
            .collect();
        others.push(plaintext);
        Self {
            modulus: Modulus::new(prime),
            inverse: inverse_mod(product_mod(&others, prime).into(), prime.into()) as u32,
            reciprocal: f64::from(prime).recip(),
        }
    }
}

/// Returns the weights of a kept prime: P⁻¹, −t/p for each dropped p, t.
fn weights(prime: u32, dropped: &[u32], plaintext: u32) -> Vec<u32> {
    let q = u64::from(prime);
    let minus_t = q - u64::from(plaintext) % q;

    let mut weights = vec![inverse_mod(product_mod(dropped, prime).into(), q) as u32];
    weights.extend(
        dropped
            .iter()
            .map(|&p| (minus_t * inverse_mod(p.into(), q) % q) as u32),
    );
    weights.push(plaintext % prime);
    weights
}

/// Panics unless the sums of [`Switch::apply`] fit 64 bits: a product for each dropped prime, and
/// two more.
fn check_sums(kept: &[u32], dropped: &[u32]) {
    let largest_kept = kept.iter().copied().max().unwrap_or_default();
    // The factors of a dropped prime are below this prime, which may be the larger one.
    let largest = dropped.iter().copied().fold(largest_kept, u32::max);

    let count = dropped.len() + 2;
    let sum = count as u128 * u128::from(largest_kept) * u128::from(largest);
    assert!(
        sum <= 1 << 64,
        "sums of {count} products of words below {largest_kept} and {largest}: expected at most \
         2^64"
    );
}

impl Switch {
    /// Prepares switching from all of these primes to the first `kept`, for plaintexts modulo
    /// `plaintext`.
    ///
    /// # Panics
    /// If a sum of products could exceed 64 bits: never for fewer than 255 dropped primes if all
    /// primes are below 2²⁸.
    pub fn new(primes: &[u32], kept: usize, plaintext: u32) -> Self {
        let (kept, dropped) = primes.split_at(kept.min(primes.len()));
        check_sums(kept, dropped);

        let constants = dropped
            .iter()
            .map(|&prime| Dropped::new(prime, dropped, plaintext));
        let kept_weights = kept.iter().map(|&prime| weights(prime, dropped, plaintext));

        Self {
            backend: Backend::current(),
            kept: kept.iter().map(|&prime| Modulus::new(prime)).collect(),
            dropped: constants.collect(),
            weights: kept_weights.collect(),
        }
    }

    /// Switches a polynomial; `residues(i)` returns its coefficients modulo prime i.
    pub fn apply<'a>(&self, degree: usize, residues: impl Fn(usize) -> &'a [u32]) -> Vec<u32> {
        let kept = self.kept.len();
        // Rows in the order of the weights: the residues modulo the kept prime, the factors of the
        // dropped primes, and the whole quotients.
        let mut rows = vec![0; (self.dropped.len() + 2) * degree];
        let mut quotients = vec![0f64; degree];

        for (i, prime) in self.dropped.iter().enumerate() {
            let row = &mut rows[(i + 1) * degree..][..degree];
            pointwise::scale(
                self.backend,
                row,
                residues(kept + i),
                prime.inverse,
                prime.modulus,
            );
            for (quotient, &factor) in quotients.iter_mut().zip(&*row) {
                *quotient += f64::from(factor) * prime.reciprocal;
            }
        }

        // A quotient rounded to the wrong side leaves u slightly above P/2, which only adds noise.
        // It is never negative, so that the cast of it plus a half rounds to nearest.
        let whole = &mut rows[(self.dropped.len() + 1) * degree..];
        whole
            .iter_mut()
            .zip(&quotients)
            .for_each(|(whole, quotient)| *whole = (quotient + 0.5) as u32);

        let mut out = vec![0; kept * degree];
        for (((out, modulus), weights), index) in out
            .chunks_exact_mut(degree)
            .zip(&self.kept)
            .zip(&self.weights)
            .zip(0..)
        {
            rows[..degree].copy_from_slice(residues(index));
            // Words below a larger dropped prime are allowed, as `new` has checked their sums.
            pointwise::combine(self.backend, out, &rows, weights, *modulus);
        }

        out
    }
}

#[cfg(test)]
mod tests {
    use papir_ring::prime::ntt_primes;

    use super::*;

    const PLAINTEXT: u32 = 65_537;

    /// The kept prime is smaller than the dropped ones, so that their factors exceed it.
    #[test]
    fn larger_primes_are_dropped_exactly() {
        let kept = ntt_primes(20, 64, 1)[0];
        let dropped = ntt_primes(28, 64, 2);
        let primes = [kept, dropped[0], dropped[1]];
        let divisor = i128::from(dropped[0]) * i128::from(dropped[1]);
        let t = i128::from(PLAINTEXT);
        // 1/t modulo the divisor is (k·divisor + 1)/t for the k that makes it whole.
        let wraps = (1..t).find(|k| (k * divisor + 1) % t == 0);
        let inverse = wraps.map_or(0, |k| (k * divisor + 1) / t);

        let modulus = divisor * i128::from(kept);
        let numbers: Vec<i128> = (0..64)
            .map(|i| (i * 0x9E37_79B9_7F4A_7C15) % modulus)
            .collect();
        let residues = primes.map(|prime| {
            let words = numbers.iter().map(|x| (x % i128::from(prime)) as u32);
            words.collect::<Vec<_>>()
        });
        let expected: Vec<u32> = numbers
            .iter()
            .map(|x| {
                let u = x % divisor * inverse % divisor;
                let centred = if 2 * u > divisor { u - divisor } else { u };
                ((x - t * centred) / divisor).rem_euclid(i128::from(kept)) as u32
            })
            .collect();

        let switch = Switch::new(&primes, 1, PLAINTEXT);
        assert_eq!(switch.apply(64, |prime| &residues[prime][..]), expected);
    }

    #[test]
    #[should_panic(expected = "expected at most 2^64")]
    fn sums_of_more_than_64_bits_panic() {
        let primes = [ntt_primes(28, 64, 1), ntt_primes(30, 64, 70)].concat();
        Switch::new(&primes, 1, PLAINTEXT);
    }
}
