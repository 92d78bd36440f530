//! From residues modulo many primes back to a number, modulo another one: without long integers.

use papir_kernels::pointwise::Modulus;

use crate::prime::inverse_mod;
use crate::rns::product_mod;

/// What takes residues modulo primes p to the number below half their product P in absolute value, modulo
/// another number m: Σ v·(P/p) − κ·P with v = x·(P/p)⁻¹ mod p and κ = round(Σ v/p).
///
/// Exact while the number is well below P/2 (Bajard, Eynard, Hasan, Zucca 2016, with the quotient in floating
/// point): [`Lift::SLACK`] says how far.
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

/// Residues that were added so far: sixteen bytes a number, however many primes there are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
    words: u64,
    quotient: f64,
}

impl Lift {
    /// Numbers up to P/4 lift: their quotients lie within a quarter of a whole number, those of random residues
    /// anywhere.
    pub const SLACK: f64 = 0.25;

    /// From residues modulo different primes to residues modulo `target`.
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

    /// The number with these residues, one for each prime, modulo m, and how far its quotient by P lies from a
    /// whole number. No branch depends on a residue.
    #[inline]
    pub fn lift(&self, residues: impl Iterator<Item = u32>) -> (u32, f64) {
        let mut sum = Sum::default();
        residues
            .take(self.primes.len())
            .enumerate()
            .for_each(|(place, residue)| self.add(&mut sum, place, residue));
        self.finish(sum)
    }

    /// Adds the part of the residue modulo the prime of this place: residues may come one after the other.
    #[inline]
    pub fn add(&self, sum: &mut Sum, place: usize, residue: u32) {
        let (modulus, inverse, reciprocal) = self.primes[place];
        let factor = modulus.mul(residue, inverse);
        sum.quotient += f64::from(factor) * reciprocal;
        // Below 2⁵⁶ each: 256 primes fit.
        sum.words += u64::from(factor) * u64::from(self.cofactors[place]);
    }

    /// What [`Lift::lift`] gives, when all residues were added.
    #[inline]
    pub fn finish(&self, sum: Sum) -> (u32, f64) {
        // Not `round`, which may branch on the number.
        let whole = (sum.quotient + 0.5) as u64 as f64;
        let taken = self.target.mul(self.target.reduce(whole as u64), self.product);
        (self.target.sub(self.target.reduce(sum.words), taken), (sum.quotient - whole).abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of either sign up to a quarter of the product lift exactly; others say that they may not have.
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
