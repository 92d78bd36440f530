//! Conversion of residues to integers modulo n, by the explicit Chinese remainder theorem.
//!
//! Let y = residue·(P/p)⁻¹ mod p for each prime p, and let k be the integer nearest to Σ y/p. A
//! number between −P/4 and P/4 is then Σ y·(P/p) − k·P. Modulo n this is Σ y·(P/p mod n) + k·(−P
//! mod n): the product of a matrix of digits, common to all numbers, with (y, k). All terms are
//! independent, and n is half as long as P.

use papir_kernels::Backend;
use papir_kernels::mat32::{self, ROWS};

use super::modulus::Modulus;
use papir_schemes::shared::residues::System;

/// Bits of a digit. 300 products of 28-bit numbers and digits stay below 2⁶³.
pub(super) const DIGIT_BITS: u32 = 26;
/// The largest digit.
const DIGIT: i32 = (1 << DIGIT_BITS) - 1;

/// Cofactors P/p mod n for each prime, then −P mod n.
pub(super) struct Lifting {
    backend: Backend,
    /// Digits of the cofactors, in groups of [`ROWS`] digits.
    tiles: Vec<i32>,
    reciprocals: Vec<f64>,
    /// Words of a result: those of n, and one for the carry of a sum.
    words: usize,
}

impl Lifting {
    /// Prepares the lifting of a system's residues.
    pub(super) fn new(n: &Modulus, system: &System) -> Self {
        let columns = system.cofactors.len();
        let mut tiles = vec![0; digit_count(n.words()).div_ceil(ROWS) * columns * ROWS];

        for (column, cofactor) in system.cofactors.iter().enumerate() {
            // The last one is P, which is subtracted.
            let sign = if column + 1 < columns { 1 } else { -1 };
            let number = n.leave(&n.sum([(&n.enter(cofactor, cofactor.len())[..], sign)]));
            for (row, digit) in digits(&number, n.words()).into_iter().enumerate() {
                tiles[(row / ROWS * columns + column) * ROWS + row % ROWS] = digit;
            }
        }

        Self {
            backend: Backend::current(),
            tiles,
            reciprocals: system.reciprocals.clone(),
            words: n.words() + 1,
        }
    }

    /// Words of a result.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// Returns `count` numbers below 2³⁸·n, congruent modulo n to the numbers with the given y:
    /// `y(prime)[number]`.
    pub(super) fn lift<'a>(&self, count: usize, y: impl Fn(usize) -> &'a [u32]) -> Vec<u64> {
        let primes = self.reciprocals.len();
        let columns = self.reciprocals.len() + 1;
        // Numbers are multiplied in pairs, so an odd count is padded.
        let mut factors = vec![0; count.next_multiple_of(2) * columns];
        // Starts at one half, so that truncation rounds to the nearest integer.
        let mut quotients = vec![0.5; count];

        for (prime, reciprocal) in self.reciprocals.iter().enumerate() {
            let factors = factors[prime..].iter_mut().step_by(columns);
            for ((factor, quotient), y) in factors.zip(&mut quotients).zip(y(prime)) {
                *factor = *y as i32;
                *quotient += f64::from(*y) * reciprocal;
            }
        }

        let last = factors[primes..].iter_mut().step_by(columns);
        last.zip(&quotients)
            .for_each(|(factor, quotient)| *factor = *quotient as i32);

        let rows = self.tiles.len() / columns;
        let mut sums = vec![0; factors.len() / columns * rows];

        let ys: Vec<[&[i32]; 2]> = factors
            .chunks_exact(2 * columns)
            .map(|two| two.split_at(columns).into())
            .collect();
        let mut outs: Vec<[&mut [i64]; 2]> = sums
            .chunks_exact_mut(2 * rows)
            .map(|two| two.split_at_mut(rows).into())
            .collect();

        mat32::pass_many(self.backend, &self.tiles, columns, &ys, &mut outs);

        let mut numbers = vec![0; count * self.words];
        let each = numbers
            .chunks_exact_mut(self.words)
            .zip(sums.chunks_exact(rows));
        each.for_each(|(number, digits)| join(digits, number));
        numbers
    }
}

/// Splits integers of `words` words each into digits.
pub(super) fn digits(integers: &[u64], words: usize) -> Vec<i32> {
    let count = digit_count(words);

    let mut digits = Vec::with_capacity(integers.len() / words * count);
    for number in integers.chunks_exact(words) {
        let end = digits.len() + count;

        let mut held = 0u128;
        let mut bits = 0;

        for word in number {
            // At most 25 bits are left over before a word of 64 joins them.
            held |= u128::from(*word) << bits;
            bits += 64;
            while bits >= DIGIT_BITS {
                digits.push(held as i32 & DIGIT);
                held >>= DIGIT_BITS;
                bits -= DIGIT_BITS;
            }
        }

        digits.resize(end, held as i32);
    }
    digits
}

/// Number of digits of an integer of `words` words.
pub(super) fn digit_count(words: usize) -> usize {
    (64 * words).div_ceil(DIGIT_BITS as usize)
}

/// Writes Σ digit·2^(26k), for digits of any size, truncated to the words of `number`.
fn join(digits: &[i64], number: &mut [u64]) {
    let mut digits = digits.iter();
    let mut carry = 0i64;
    let mut held = 0u128;
    let mut bits = 0;

    for word in number {
        while bits < 64 {
            // A digit is a sum of up to 300 products below 2^54 and the carry below 2^37: together
            // they stay below 2^63.
            carry += digits.next().copied().unwrap_or(0);
            held |= u128::from(carry as u32 & DIGIT as u32) << bits;
            carry >>= DIGIT_BITS;
            bits += DIGIT_BITS;
        }
        *word = held as u64;
        held >>= 64;
        bits -= 64;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    #[test]
    fn digits_join_to_their_number() {
        for words in [1, 2, 13, 32] {
            let number: Vec<u64> = (1..=words)
                .map(|k: u64| k.wrapping_mul(0xf0e1_d2c3_b4a5_9687))
                .collect();
            let digits: Vec<i64> = digits(&number, words as usize)
                .into_iter()
                .map(i64::from)
                .collect();
            assert_eq!(digits.len(), digit_count(words as usize));

            let mut joined = vec![7; words as usize + 1];
            join(&digits, &mut joined);
            assert_eq!(joined, [&number[..], &[0]].concat());
        }
    }

    #[test]
    fn lifted_numbers_are_congruent_and_bounded() {
        let primes = |count: u32| {
            let all = (0..u32::MAX >> 4)
                .rev()
                .filter(|n| papir_ring::prime::is_prime(u64::from(*n)));
            all.take(count as usize).collect::<Vec<u32>>()
        };
        let big = |words: &[u64]| {
            BigUint::from_bytes_le(
                &words
                    .iter()
                    .flat_map(|word| word.to_le_bytes())
                    .collect::<Vec<_>>(),
            )
        };

        for (words, count) in [(1, 5), (4, 19), (26, 120), (32, 150), (64, 300)] {
            let word =
                |k: u64| k.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(k as u32) | 1 << 63 | 1;
            let n = Modulus::unchecked(&(0..words).map(word).collect::<Vec<u64>>()).unwrap();
            let system = System::new(primes(count), 1, DIGIT_BITS);

            let lifting = Lifting::new(&n, &system);
            let [product, modulus] = [system.cofactors.last().unwrap(), n.integer()].map(big);
            let most: BigUint = &product / 4u8;
            let some = |k: u32| &most / 977u32 * k + k;

            // The last two represent −1 and −P/4.
            let numbers = [
                BigUint::ZERO,
                1u8.into(),
                some(5),
                some(700),
                &most - 1u8,
                &product - 1u8,
                &product - &most,
            ];

            for count in [1, 2, 7] {
                let y = |(prime, cofactor): (&u32, &Vec<u64>)| {
                    let inverse = (big(cofactor) % *prime).modinv(&(*prime).into()).unwrap();
                    let residue = |number: &BigUint| number * &inverse % *prime;
                    numbers[..count]
                        .iter()
                        .map(|number| residue(number).try_into().unwrap())
                        .collect()
                };
                let y: Vec<Vec<u32>> = system
                    .primes()
                    .iter()
                    .zip(&system.cofactors)
                    .map(y)
                    .collect();

                let lifted = lifting.lift(count, |prime| &y[prime]);
                let lifted: Vec<BigUint> = lifted.chunks_exact(lifting.words()).map(big).collect();
                assert_eq!(lifted.len(), count);

                for (lifted, number) in lifted.iter().zip(&numbers) {
                    let negative = *number > most;
                    let number = if negative {
                        number + &modulus * &product - &product
                    } else {
                        number.clone()
                    };
                    assert_eq!(lifted % &modulus, number % &modulus, "{words} words");
                    assert!(*lifted < &modulus << 38);
                }
            }
        }
    }
}
