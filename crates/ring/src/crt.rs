//! Base conversion from residues modulo many primes to another modulus.

use papir_kernels::pointwise::Modulus;

use crate::prime::inverse_mod;
use crate::rns::product_mod;

/// Conversion of residues modulo primes p, of a number below P/2 in absolute value, to its residue
/// modulo another number m. P is the product of the primes.
///
/// The result is Σ v·(P/p) − κ·P with v = x·(P/p)⁻¹ mod p and κ = round(Σ v/p), computed modulo m
/// and without long integers (Bajard, Eynard, Hasan, Zucca 2016, with the quotient in floating
/// point). It is exact for numbers well below P/2; see [`Lift::SLACK`].
#[derive(Debug, Clone)]
pub struct Lift {
    /// p, (P/p)⁻¹ mod p, 1/p.
    primes: Vec<(Modulus, u32, f64)>,
    /// P/p modulo m for each p.
    cofactors: Vec<u32>,
    /// P modulo m.
    product: u32,
    target: Modulus,
}

/// The running sum over residues: sixteen bytes for any number of primes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
    words: u64,
    quotient: f64,
}

impl Lift {
    /// Numbers up to P/4 in absolute value lift exactly. Their quotients by P are within this
    /// distance of a whole number, while those of random residues can be anywhere.
    pub const SLACK: f64 = 0.25;

    /// A conversion from residues modulo distinct primes to residues modulo `target`.
    pub fn new(primes: &[u32], target: Modulus) -> Self {
        let others = |prime: u32| primes.iter().copied().filter(|&other| other != prime).collect::<Vec<_>>();
        let part = |&prime: &u32| {
            let inverse = inverse_mod(product_mod(&others(prime), prime).into(), prime.into()) as u32;
            (Modulus::new(prime), inverse, f64::from(prime).recip())
        };
        Self {
            primes: primes.iter().map(part).collect(),
            cofactors: primes.iter().map(|&prime| product_mod(&others(prime), target.value())).collect(),
            product: product_mod(primes, target.value()),
            target,
        }
    }

    /// Converts one residue for each prime; returns the number modulo m, and the distance of its
    /// quotient by P from a whole number. No branch depends on a residue.
    #[inline]
    pub fn lift(&self, residues: impl Iterator<Item = u32>) -> (u32, f64) {
        let mut sum = Sum::default();
        residues
            .take(self.primes.len())
            .enumerate()
            .for_each(|(index, residue)| self.add(&mut sum, index, residue));
        self.finish(sum)
    }

    /// Adds the residue modulo the prime at `index`, for callers that have one residue at a time.
    #[inline]
    pub fn add(&self, sum: &mut Sum, index: usize, residue: u32) {
        let (modulus, inverse, reciprocal) = self.primes[index];
        let factor = modulus.mul(residue, inverse);
        sum.quotient += f64::from(factor) * reciprocal;
        // Primes are below 2²⁸, so each product is below 2⁵⁶ and 256 of them fit.
        sum.words += u64::from(factor) * u64::from(self.cofactors[index]);
    }

    /// Returns the same as [`Lift::lift`], after all residues were added.
    #[inline]
    pub fn finish(&self, sum: Sum) -> (u32, f64) {
        // A cast truncates, while `f64::round` may branch on the number. With 256 primes the sum is
        // off by less than 2⁻³⁷ (half a unit of 2⁻⁴⁵ per addition), which is far below `SLACK`.
        let whole = (sum.quotient + 0.5) as u64 as f64;
        let taken = self.target.mul(self.target.reduce(whole as u64), self.product);
        (self.target.sub(self.target.reduce(sum.words), taken), (sum.quotient - whole).abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of either sign lift exactly, and the distance shows how close they are to P/2.
    #[test]
    fn small_numbers_lift_exactly() {
        let primes = [97, 193, 257, 449];
        let product = primes.iter().map(|&prime| i64::from(prime)).product::<i64>();
        let lift = Lift::new(&primes, Modulus::new(65_537));
        for x in [0, 1, -1, 65_537, 1_234_567, -123_456_789, product / 4, -product / 4, product / 2 - 1] {
            let (found, off) = lift.lift(primes.iter().map(|&prime| x.rem_euclid(prime.into()) as u32));
            assert_eq!(i64::from(found), x.rem_euclid(65_537), "{x}");
            let expected = x.abs() as f64 / product as f64;
            assert!((off - expected).abs() < 1e-9, "{x}: {off}, expected {expected}");
        }
    }
}
