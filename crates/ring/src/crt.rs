//! Base conversion from residues modulo many primes to another modulus.

use papir_kernels::Backend;
use papir_kernels::pointwise::Modulus;
use papir_kernels::small_prime::{self, Share};

use crate::prime::inverse_mod;
use crate::rns::product_mod;

/// The most primes of a [`Lift`]: the sum of their quotients, in units of 2⁻⁵⁰, fits 64 bits.
pub const MAX_PRIMES: usize = 1 << 13;

/// Conversion of residues modulo primes p, of a number below P/2 in absolute value, to its residue
/// modulo another number m. P is the product of the primes.
///
/// The result is Σ v·(P/p) − κ·P with v = x·(P/p)⁻¹ mod p and κ = round(Σ v/p), computed modulo m
/// and without long integers (Bajard, Eynard, Hasan, Zucca 2016, with the quotient in floating
/// point). It is exact for numbers well below P/2; see [`Lift::SLACK`].
#[derive(Debug, Clone)]
pub struct Lift {
    backend: Backend,
    primes: Vec<PrimeConstants>,
    /// P/p modulo m for each p.
    cofactors: Vec<u32>,
    /// P modulo m.
    product: u32,
    target: Modulus,
}

/// Constants of one prime p.
#[derive(Debug, Clone, Copy)]
struct PrimeConstants {
    modulus: Modulus,
    /// (P/p)⁻¹ mod p.
    inverse: u32,
    /// 1/p.
    reciprocal: f64,
}

/// The running sum over the residues of one number.
#[derive(Debug, Clone, Copy, Default)]
struct ResidueSum {
    words: u64,
    quotient: f64,
}

/// Running sums over the residues of many numbers modulo small primes.
///
/// They take sixteen bytes a number, for any number of primes.
#[derive(Debug, Default)]
pub struct Sums {
    words: Vec<u64>,
    quotients: Vec<u64>,
}

impl Sums {
    /// The sums of `count` numbers before any residue is added.
    pub fn zeroed(count: usize) -> Self {
        Self {
            words: vec![0; count],
            quotients: vec![0; count],
        }
    }

    /// Starts again with `count` numbers, in the same memory.
    pub fn reset(&mut self, count: usize) {
        for sums in [&mut self.words, &mut self.quotients] {
            sums.clear();
            sums.resize(count, 0);
        }
    }
}

impl Lift {
    /// Numbers up to P/4 in absolute value lift exactly. Their quotients by P are within this
    /// distance of a whole number, while the quotients of random residues can be anywhere.
    pub const SLACK: f64 = 0.25;

    /// A conversion from residues modulo distinct primes to residues modulo `target`.
    ///
    /// # Panics
    /// If there are more than [`MAX_PRIMES`] primes or two equal ones, or if the sums of products
    /// could exceed 64 bits: never for up to 64 primes below 2²⁸, or up to 256 if the target is
    /// below 2²⁸ as well.
    pub fn new(primes: &[u32], target: Modulus) -> Self {
        check_primes(primes, target.value());

        let constants = primes.iter().map(|&prime| {
            // Not 0 modulo the prime, as the primes are distinct, so it has an inverse.
            let cofactor = product_of_others(primes, prime, prime);
            PrimeConstants {
                modulus: Modulus::new(prime),
                inverse: inverse_mod(cofactor.into(), prime.into()) as u32,
                reciprocal: f64::from(prime).recip(),
            }
        });
        let cofactors = primes
            .iter()
            .map(|&prime| product_of_others(primes, prime, target.value()));

        Self {
            backend: Backend::current(),
            primes: constants.collect(),
            cofactors: cofactors.collect(),
            product: product_mod(primes, target.value()),
            target,
        }
    }

    /// Converts one residue for each prime; returns the number modulo m, and the distance of its
    /// quotient by P from a whole number. No branch depends on a residue.
    #[inline]
    pub fn lift(&self, residues: impl Iterator<Item = u32>) -> (u32, f64) {
        let mut sum = ResidueSum::default();
        residues
            .take(self.primes.len())
            .enumerate()
            .for_each(|(index, residue)| self.add(&mut sum, index, residue));
        self.finish(sum)
    }

    /// Adds the residues of all numbers modulo the prime at `index`, which is below 2¹⁶.
    ///
    /// For callers that have the residues of one prime at a time.
    ///
    /// # Panics
    /// If the lengths differ, or there is no such prime.
    pub fn add_all(&self, sums: &mut Sums, index: usize, residues: &[u16]) {
        let PrimeConstants {
            modulus, inverse, ..
        } = self.primes[index];
        let share = Share::new(modulus.value(), inverse, self.cofactors[index]);
        small_prime::add_share(
            self.backend,
            &mut sums.words,
            &mut sums.quotients,
            residues,
            share,
        );
    }

    /// Writes the numbers modulo m, after all residues were added.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn finish_all(&self, sums: &Sums, out: &mut [u32]) {
        small_prime::finish(
            self.backend,
            out,
            &sums.words,
            &sums.quotients,
            self.product,
            self.target,
        );
    }

    /// Adds the residue modulo the prime at `index`.
    #[inline]
    fn add(&self, sum: &mut ResidueSum, index: usize, residue: u32) {
        let PrimeConstants {
            modulus,
            inverse,
            reciprocal,
        } = self.primes[index];

        let factor = modulus.mul(residue, inverse);
        sum.quotient += f64::from(factor) * reciprocal;
        // The sum fits: it is at most Σ (p − 1)·(m − 1), which `new` has checked.
        sum.words += u64::from(factor) * u64::from(self.cofactors[index]);
    }

    /// Returns the same as [`Lift::lift`], after all residues were added.
    #[inline]
    fn finish(&self, sum: ResidueSum) -> (u32, f64) {
        // A cast truncates, while `f64::round` may branch on the number. With 2¹³ primes the sum is
        // off by less than 2⁻²⁷ (half a unit of 2⁻⁴⁰ per addition), which is far below `SLACK`.
        let whole = (sum.quotient + 0.5) as u64 as f64;

        let taken = self
            .target
            .mul(self.target.reduce(whole as u64), self.product);
        (
            self.target.sub(self.target.reduce(sum.words), taken),
            (sum.quotient - whole).abs(),
        )
    }
}

/// Panics unless a conversion from these primes to residues modulo `target` is exact.
fn check_primes(primes: &[u32], target: u32) {
    let count = primes.len();
    assert!(
        count <= MAX_PRIMES,
        "{count} primes: expected at most {MAX_PRIMES}"
    );

    let mut sorted = primes.to_vec();
    sorted.sort_unstable();
    let equal = sorted.windows(2).find(|pair| pair[0] == pair[1]);
    let twice = equal.map_or(0, |pair| pair[0]);
    assert!(twice == 0, "prime {twice} twice: expected different primes");

    // A factor is at most p − 1, and the cofactor that multiplies it at most m − 1.
    let factors: u64 = primes.iter().map(|&p| u64::from(p.saturating_sub(1))).sum();
    let sum = factors.checked_mul(u64::from(target - 1));
    assert!(
        sum.is_some(),
        "{count} primes and target {target}: expected sums of products below 2^64"
    );
}

/// Returns P/`prime` modulo `modulus`, where P is the product of `primes`.
fn product_of_others(primes: &[u32], prime: u32, modulus: u32) -> u32 {
    let others: Vec<u32> = primes
        .iter()
        .copied()
        .filter(|&other| other != prime)
        .collect();
    product_mod(&others, modulus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prime::ntt_primes;

    /// Numbers of either sign lift exactly, and the distance shows how close they are to P/2.
    #[test]
    fn small_numbers_lift_exactly() {
        let primes = [97, 193, 257, 449];
        let product = primes
            .iter()
            .map(|&prime| i64::from(prime))
            .product::<i64>();
        let lift = Lift::new(&primes, Modulus::new(65_537));
        for x in [
            0,
            1,
            -1,
            65_537,
            1_234_567,
            -123_456_789,
            product / 4,
            -product / 4,
            product / 2 - 1,
        ] {
            let (found, off) = lift.lift(
                primes
                    .iter()
                    .map(|&prime| x.rem_euclid(prime.into()) as u32),
            );
            assert_eq!(i64::from(found), x.rem_euclid(65_537), "{x}");
            let expected = x.abs() as f64 / product as f64;
            assert!(
                (off - expected).abs() < 1e-9,
                "{x}: {off}, expected {expected}"
            );
        }
    }

    /// The largest target makes the largest products: 64 primes below 2²⁸ fill the 64 bits.
    #[test]
    fn sums_of_64_large_primes_are_exact() {
        let primes = ntt_primes(28, 64, 64);
        let target = Modulus::new((1 << 30) - 1);
        // The residues of −1 are the largest.
        let found = Lift::new(&primes, target).lift(primes.iter().map(|prime| prime - 1));
        assert_eq!(found.0, target.value() - 1);
    }

    #[test]
    #[should_panic(expected = "65 primes and target 1073741823: expected sums of products below")]
    fn more_large_primes_panic() {
        Lift::new(&ntt_primes(28, 64, 65), Modulus::new((1 << 30) - 1));
    }

    #[test]
    #[should_panic(expected = "8193 primes: expected at most 8192")]
    fn more_small_primes_panic() {
        let numbers: Vec<u32> = (2..).take(MAX_PRIMES + 1).collect();
        Lift::new(&numbers, Modulus::new(17));
    }

    #[test]
    #[should_panic(expected = "prime 97 twice: expected different primes")]
    fn equal_primes_panic() {
        Lift::new(&[97, 193, 97], Modulus::new(65_537));
    }

    #[test]
    fn many_numbers_lift_like_one() {
        let primes = [97, 193, 257, 449, 65_521];
        let lift = Lift::new(&primes, Modulus::new(268_369_921));
        let numbers: Vec<i64> = (-40..40).map(|i| i * 123_456_789_012).collect();
        let residue = |x: i64, prime: u32| x.rem_euclid(prime.into()) as u32;
        let mut sums = Sums::zeroed(3);
        sums.reset(numbers.len());
        for (index, &prime) in primes.iter().enumerate() {
            let residues: Vec<u16> = numbers.iter().map(|&x| residue(x, prime) as u16).collect();
            lift.add_all(&mut sums, index, &residues);
        }
        let mut found = vec![0; numbers.len()];
        lift.finish_all(&sums, &mut found);
        let one = |&x: &i64| lift.lift(primes.iter().map(|&prime| residue(x, prime))).0;

        assert_eq!(found, numbers.iter().map(one).collect::<Vec<_>>());
    }
}
