//! Arithmetic on integers of many words, in constant time.
//!
//! Used to set up a modulus and to convert integers to elements and back, where simple loops are
//! fast enough.

use std::hint::black_box;

/// Bits of an integer without leading zero words.
pub(super) fn bits(words: &[u64]) -> usize {
    words
        .last()
        .map_or(0, |last| words.len() * 64 - last.leading_zeros() as usize)
}

/// All ones if `bit` is 1, zero if it is 0. `black_box` keeps the compiler from branching on it.
pub(super) fn mask(bit: u64) -> u64 {
    black_box(bit.wrapping_neg())
}

/// `x − y − borrow` and the new borrow.
fn subtract_word(x: u64, y: u64, borrow: u64) -> (u64, u64) {
    let difference = u128::from(x)
        .wrapping_sub(u128::from(y))
        .wrapping_sub(u128::from(borrow));
    (difference as u64, (difference >> 64) as u64 & 1)
}

/// Doubles an integer and adds `bit`; returns the carry.
pub(super) fn double(words: &mut [u64], bit: u64) -> u64 {
    words.iter_mut().fold(bit, |low, word| {
        let high = *word >> 63;
        *word = *word << 1 | low;
        high
    })
}

/// Adds a bit; returns the carry.
pub(super) fn add_bit(words: &mut [u64], bit: u64) -> u64 {
    words.iter_mut().fold(bit, |carry, word| {
        let (sum, carry) = word.overflowing_add(carry);
        *word = sum;
        u64::from(carry)
    })
}

/// Subtracts `modulus` from `top·2^(64·length) + words` if the difference is not negative.
///
/// Returns 1 if it subtracted, otherwise 0. The result must fit the words.
pub(super) fn subtract_once(words: &mut [u64], top: u64, modulus: &[u64]) -> u64 {
    // The first pass finds only the sign. The second one subtracts the modulus or zero, so neither
    // branches on a secret.
    let borrow = words
        .iter()
        .zip(modulus)
        .fold(0, |borrow, (&x, &y)| subtract_word(x, y, borrow).1);
    let enough = top | (borrow ^ 1);
    let mask = mask(enough);
    words.iter_mut().zip(modulus).fold(0, |borrow, (x, &y)| {
        let (difference, borrow) = subtract_word(*x, y & mask, borrow);
        *x = difference;
        borrow
    });
    enough
}

/// Adds `x·y` to `out`, which must be long enough for the sum.
pub(super) fn add_product(out: &mut [u64], x: &[u64], y: &[u64]) {
    for (i, &x) in x.iter().enumerate() {
        let (low, high) = out[i..].split_at_mut(y.len());
        let carry = low.iter_mut().zip(y).fold(0, |carry, (out, &y)| {
            // No sum overflows: (2⁶⁴ − 1)² + 2·(2⁶⁴ − 1) = 2¹²⁸ − 1.
            let sum = u128::from(x) * u128::from(y) + u128::from(*out) + u128::from(carry);
            *out = sum as u64;
            (sum >> 64) as u64
        });
        high.iter_mut().fold(carry, |carry, word| {
            let (sum, carry) = word.overflowing_add(carry);
            *word = sum;
            u64::from(carry)
        });
    }
}

/// −x⁻¹ modulo 2^64 for odd x, by Newton's iteration.
///
/// x is its own inverse modulo 2³, and each round doubles the number of correct bits.
pub(super) fn negated_inverse(x: u64) -> u64 {
    let inverse = (0..6).fold(x, |y, _| {
        y.wrapping_mul(2u64.wrapping_sub(x.wrapping_mul(y)))
    });
    inverse.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use papir_reference::vectors::rows;

    use super::*;

    const VECTORS: &str = include_str!("../../../../docs/vectors/arithmetic/kernels.json");

    #[test]
    fn negated_inverses_are_those_of_the_definition() {
        for [x, expected] in rows::<2>(VECTORS, "bigint.negated_inverse") {
            let found = negated_inverse(x as u64);
            assert_eq!(i128::from(found), expected, "{x}");
        }
    }

    #[test]
    fn the_negated_inverse_times_the_number_is_minus_one() {
        for x in [1, 3, 5, 0xdead_beef, u64::MAX, u64::MAX - 2] {
            assert_eq!(x.wrapping_mul(negated_inverse(x)).wrapping_add(1), 0, "{x}");
        }
    }

    #[test]
    fn subtract_once_subtracts_unless_the_result_is_negative() {
        let modulus = [5, 1];
        for (words, top, expected, enough) in [
            ([5, 1], 0, [0, 0], 1),
            ([4, 1], 0, [4, 1], 0),
            ([3, 0], 1, [u64::MAX - 1, u64::MAX - 1], 1),
        ] {
            let mut words = words;
            assert_eq!(subtract_once(&mut words, top, &modulus), enough);
            assert_eq!(words, expected);
        }
    }
}
