//! Digits of the first level's words: the paper's `Decomp` and `Recomp` of their leading bits.

use crate::shared::digits::Digits;

/// Bits of a digit.
pub(crate) const DIGIT_BITS: u32 = 7;
/// Half of the digits' modulus, which centring subtracts.
pub(crate) const CENTRE: u8 = 1 << (DIGIT_BITS - 1);
/// Digits of a word of the first hint. Its rounding is multiplied by the secret, so it needs more
/// than a body.
pub(crate) const MASK: Digits = Digits { bits: DIGIT_BITS, count: 3 };
/// Digits of a word of the first answer.
pub(crate) const BODY: Digits = Digits { bits: DIGIT_BITS, count: 2 };

/// The digits of the leading bits of a word.
pub(crate) fn split(digits: Digits, word: u32) -> impl Iterator<Item = u8> {
    digits.split(digits.leading(word)).map(|digit| digit as u8)
}
