//! BGV modulus switching in residues.

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

impl Switch {
    /// Prepares switching from all of these primes to the first `kept`, for plaintexts modulo
    /// `plaintext`.
    pub fn new(primes: &[u32], kept: usize, plaintext: u32) -> Self {
        let (kept, dropped) = primes.split_at(kept.min(primes.len()));
        let constants = dropped
            .iter()
            .map(|&prime| Dropped::new(prime, dropped, plaintext));
        let kept_weights = kept.iter().map(|&prime| weights(prime, dropped, plaintext));

        Self {
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
            pointwise::scale(row, residues(kept + i), prime.inverse, prime.modulus);
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
            pointwise::combine(out, &rows, weights, *modulus);
        }

        out
    }
}
