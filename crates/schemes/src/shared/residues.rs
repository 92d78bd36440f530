//! Wide integers as residues modulo many primes, and back.
//!
//! Sums of products of wide integers are computed on residues. The residues of a number are sums of
//! its digits times powers of their base, for 64 primes at a time by [`papir_kernels::mat32`]. The
//! Chinese remainder theorem lifts residues back.

use papir_kernels::Backend;
use papir_kernels::mat32::{self, ROWS};
use papir_ring::prime::{inverse_mod, pow_mod};

/// A system of primes, with the powers that map digits to residues and the cofactors that map
/// residues back.
#[derive(Clone)]
pub struct System {
    backend: Backend,
    primes: Vec<u32>,
    /// Number of digits of the longest number.
    digits: usize,
    /// Powers 2^(bits·c) modulo each prime, centred, in row groups of primes.
    powers: Vec<i32>,
    /// Reciprocal 1/p of each prime p.
    pub reciprocals: Vec<f64>,
    /// Inverse (P/p)⁻¹ modulo p for each prime p, where P is the product of all primes.
    inverses: Vec<u32>,
    /// Cofactor P/p of each prime, then P, in little-endian words.
    pub cofactors: Vec<Vec<u64>>,
}

impl System {
    /// Creates a system of different primes, for numbers of `digits` digits of `bits` bits. Sums of
    /// products of digits with half a prime must stay below 2⁶¹.
    pub fn new(primes: Vec<u32>, digits: usize, bits: u32) -> Self {
        let product = primes
            .iter()
            .fold(vec![1], |product: Vec<u64>, prime| times(&product, *prime));
        let cofactors: Vec<Vec<u64>> = primes
            .iter()
            .map(|prime| divided(&product, *prime).0)
            .collect();
        let inverses = primes
            .iter()
            .zip(&cofactors)
            .map(|(prime, cofactor)| {
                inverse_mod(divided(cofactor, *prime).1, u64::from(*prime)) as u32
            })
            .collect();

        let cofactors = cofactors.into_iter().chain([product]).collect();
        let reciprocals = primes
            .iter()
            .map(|prime| f64::from(*prime).recip())
            .collect();

        Self {
            backend: Backend::current(),
            powers: powers(&primes, digits, bits, |_| 1),
            primes,
            digits,
            reciprocals,
            inverses,
            cofactors,
        }
    }

    /// Returns the primes.
    pub fn primes(&self) -> &[u32] {
        &self.primes
    }

    /// Returns the number of parts of [`ROWS`] primes. The last part may have fewer primes.
    pub fn parts(&self) -> usize {
        self.primes.len().div_ceil(ROWS)
    }

    /// Returns the primes of one part.
    pub fn primes_of(&self, part: usize) -> &[u32] {
        &self.primes[part * ROWS..self.primes.len().min((part + 1) * ROWS)]
    }

    /// Returns the residues of two numbers, with the same number of digits, modulo the primes of
    /// one part.
    pub fn residues(&self, part: usize, numbers: [&[i32]; 2]) -> [[u32; ROWS]; 2] {
        self.residues_by(&self.powers, part, numbers)
    }

    /// Returns factors for [`System::residues_by`] that give numbers times (P/p)⁻¹ modulo each
    /// prime p, where P is the product of all primes. Products are lifted from these.
    pub fn inverted_powers(&self, bits: u32) -> Vec<i32> {
        powers(&self.primes, self.digits, bits, |i| self.inverses[i])
    }

    /// Computes [`System::residues`] with other factors of the digits.
    pub fn residues_by(
        &self,
        powers: &[i32],
        part: usize,
        numbers: [&[i32]; 2],
    ) -> [[u32; ROWS]; 2] {
        // Numbers of fewer digits than the longest use the lowest powers only.
        let mut sums = [[0i64; ROWS]; 2];
        let tile = &powers[part * self.digits * ROWS..][..numbers[0].len() * ROWS];
        let [first, second] = &mut sums;
        mat32::accumulate(self.backend, tile, numbers[0], numbers[1], first, second);

        sums.map(|sums| {
            let mut residues = [0; ROWS];
            let primes = self
                .primes_of(part)
                .iter()
                .zip(&self.reciprocals[part * ROWS..]);
            for ((residue, sum), (prime, reciprocal)) in residues.iter_mut().zip(sums).zip(primes) {
                *residue = remainder(sum, *prime, *reciprocal);
            }
            residues
        })
    }

    /// Returns the number below P/4 with these residues, by the Chinese remainder theorem: Σ y·P/p
    /// − k·P with y = residue·(P/p)⁻¹ mod p and k = ⌊Σ y/p⌋. The fraction of Σ y/p is below ¼.
    pub fn lift(&self, residues: impl Iterator<Item = u32>) -> Vec<u64> {
        let Some((product, cofactors)) = self.cofactors.split_last() else {
            return Vec::new();
        };

        let mut sum = vec![0; product.len() + 1];
        let mut quotient = 0f64;
        let primes = self.primes.iter().zip(&self.inverses).zip(cofactors);
        for (((prime, inverse), cofactor), residue) in primes.zip(residues) {
            let factor = (u64::from(residue) * u64::from(*inverse) % u64::from(*prime)) as u32;
            quotient += f64::from(factor) / f64::from(*prime);
            add_times(&mut sum, cofactor, factor);
        }

        // The fraction of the exact quotient is below ¼ and the rounding of the sum far below 10⁻⁶:
        // adding 10⁻⁶ lifts a quotient that was rounded below its whole number, and never reaches
        // the next.
        subtract_times(&mut sum, product, (quotient + 1e-6).floor() as u32);
        sum
    }
}

/// Reduces a sum modulo a prime with its reciprocal. Adding and subtracting a number that leaves no
/// bits for a fraction rounds the quotient. Sums are far below 2⁶³ and quotients far below 2⁵¹, so
/// the rest is at most slightly more than half a prime.
fn remainder(sum: i64, prime: u32, reciprocal: f64) -> u32 {
    // 1.5 · 2^52: added to a number below 2^51 in size, the sum has an ulp of 1, for either sign.
    const WHOLE: f64 = 3.0 * (1u64 << 51) as f64;
    let quotient = (sum as f64 * reciprocal + WHOLE) - WHOLE;
    let rest = sum - quotient as i64 * i64::from(prime);
    (rest + if rest < 0 { i64::from(prime) } else { 0 }) as u32
}

/// Returns first·2^(bits·c) modulo each prime, centred, for c below `digits`, in row groups of
/// primes.
fn powers(primes: &[u32], digits: usize, bits: u32, first: impl Fn(usize) -> u32) -> Vec<i32> {
    let mut tiles = vec![0; primes.len().div_ceil(ROWS) * digits * ROWS];

    for (i, &prime) in primes.iter().enumerate() {
        let tile = &mut tiles[i / ROWS * digits * ROWS..][..digits * ROWS];
        let base = pow_mod(2, u64::from(bits), u64::from(prime));
        let mut power = u64::from(first(i));
        for out in tile.iter_mut().skip(i % ROWS).step_by(ROWS) {
            // Centred, because the sums of [`mat32::accumulate`] are bounded for factors of half a
            // prime.
            *out = centred(power as u32, prime);
            power = power * base % u64::from(prime);
        }
    }

    tiles
}

/// Returns the representative of a residue between −p/2 and p/2.
pub fn centred(residue: u32, prime: u32) -> i32 {
    if residue > prime / 2 {
        (i64::from(residue) - i64::from(prime)) as i32
    } else {
        residue as i32
    }
}

/// Returns a·b, which has one word more than a if it needs it.
pub fn times(a: &[u64], b: u32) -> Vec<u64> {
    let mut product = vec![0; a.len() + 1];
    add_times(&mut product, a, b);
    if product.last() == Some(&0) {
        product.pop();
    }
    product
}

/// Returns ⌊a/b⌋ and a mod b.
fn divided(a: &[u64], b: u32) -> (Vec<u64>, u64) {
    let mut quotient = vec![0; a.len()];
    let mut rest = 0u128;
    for (out, word) in quotient.iter_mut().zip(a).rev() {
        let dividend = rest << 64 | u128::from(*word);
        *out = (dividend / u128::from(b)) as u64;
        rest = dividend % u128::from(b);
    }
    (quotient, rest as u64)
}

/// Adds a·b to `sum`, which must have room for the result.
pub fn add_times(sum: &mut [u64], a: &[u64], b: u32) {
    let mut carry = 0u128;
    for (i, out) in sum.iter_mut().enumerate() {
        let word = a.get(i).copied().unwrap_or(0);
        carry += u128::from(word) * u128::from(b) + u128::from(*out);
        *out = carry as u64;
        carry >>= 64;
    }
}

/// Subtracts a·b from `sum`. The product must not exceed the sum.
fn subtract_times(sum: &mut [u64], a: &[u64], b: u32) {
    let product = times(a, b);
    let mut borrow = false;
    for (i, out) in sum.iter_mut().enumerate() {
        // At most one of the two subtractions borrows: after the first did, the word is at least 1.
        let (less, first) = out.overflowing_sub(product.get(i).copied().unwrap_or(0));
        let (less, second) = less.overflowing_sub(u64::from(borrow));
        (*out, borrow) = (less, first || second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_are_those_of_division() {
        for prime in [65_537, 268_435_399, 4_294_967_291] {
            let p = i64::from(prime);
            let near = |k: i64| [k * p - 1, k * p, k * p + 1];
            let most = (1 << 61) / p;

            let sums = [0, 1, 2, 1 << 20, most / 3, most]
                .into_iter()
                .flat_map(|k| near(k).into_iter().chain(near(-k)));

            for sum in sums.chain([1 << 61, -(1 << 61), 0x0123_4567_89ab_cdef]) {
                let expected = sum.rem_euclid(p) as u32;
                assert_eq!(
                    remainder(sum, prime, f64::from(prime).recip()),
                    expected,
                    "{sum} modulo {prime}"
                );
            }
        }
    }
}
