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
    /// For each dropped prime p: p, (t·P/p)⁻¹ mod p, 1/p.
    dropped: Vec<(Modulus, u32, f64)>,
    /// For each kept prime: P⁻¹, −t/p for each dropped p, t.
    weights: Vec<Vec<u32>>,
}

impl Switch {
    /// Prepares switching from all of these primes to the first `kept`, for plaintexts modulo
    /// `plaintext`.
    pub fn new(primes: &[u32], kept: usize, plaintext: u32) -> Self {
        let (kept, dropped) = primes.split_at(kept.min(primes.len()));
        let part = |&prime: &u32| {
            let mut others: Vec<u32> = dropped
                .iter()
                .copied()
                .filter(|&other| other != prime)
                .collect();
            others.push(plaintext);
            let inverse = inverse_mod(product_mod(&others, prime).into(), prime.into()) as u32;
            (Modulus::new(prime), inverse, f64::from(prime).recip())
        };
        let weights = |&prime: &u32| {
            let q = u64::from(prime);
            let over = |x: u32| inverse_mod(x.into(), q);
            let minus_t = q - u64::from(plaintext) % q;
            let mut weights = vec![over(product_mod(dropped, prime)) as u32];
            weights.extend(dropped.iter().map(|&p| (minus_t * over(p) % q) as u32));
            weights.push(plaintext % prime);
            weights
        };
        Self {
            kept: kept.iter().map(|&prime| Modulus::new(prime)).collect(),
            dropped: dropped.iter().map(part).collect(),
            weights: kept.iter().map(weights).collect(),
        }
    }

    /// Switches a polynomial; `residues(i)` returns its coefficients modulo prime i.
    pub fn apply<'a>(&self, degree: usize, residues: impl Fn(usize) -> &'a [u32]) -> Vec<u32> {
        let kept = self.kept.len();
        let mut rows = vec![0; (self.dropped.len() + 2) * degree];
        let mut quotients = vec![0f64; degree];
        for (i, (modulus, inverse, reciprocal)) in self.dropped.iter().enumerate() {
            let row = &mut rows[(i + 1) * degree..][..degree];
            pointwise::scale(row, residues(kept + i), *inverse, *modulus);
            for (quotient, &factor) in quotients.iter_mut().zip(&*row) {
                *quotient += f64::from(factor) * reciprocal;
            }
        }
        // A quotient rounded to the wrong side leaves u slightly above P/2, which only adds noise.
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
