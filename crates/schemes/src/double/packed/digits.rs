//! Words modulo 2³² as digits: DoublePIR's `Decomp` and `Recomp`, of the leading bits only, in digits of a
//! chosen width.

use papir_lattice::lwe32::LOG2_Q;

/// Widest digit: a signed word of 16 bits.
const MAX_DIGIT_BITS: u32 = 16;

/// How the first level's words become digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigitShape {
    /// D, bits of a digit.
    pub bits: u32,
    /// Digits of a word of the hint. Its rounding meets the secret, so it needs more than a body.
    pub mask: usize,
    /// Digits of a word of the first answer.
    pub body: usize,
}

impl DigitShape {
    /// Whether there are such digits, no more of them than a word has bits.
    pub(super) fn fits(&self) -> bool {
        let count =
            |count: usize| (1..=LOG2_Q as usize).contains(&(count.saturating_mul(self.bits as usize)));
        (1..=MAX_DIGIT_BITS).contains(&self.bits) && count(self.mask) && count(self.body)
    }

    /// Of a word of the hint.
    pub(super) const fn of_mask(self) -> Digits {
        Digits { bits: self.bits, count: self.mask }
    }

    /// Of a word of the first answer.
    pub(super) const fn of_body(self) -> Digits {
        Digits { bits: self.bits, count: self.body }
    }
}

/// So many digits of so many bits, at most 32 in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digits {
    pub(super) bits: u32,
    pub(super) count: usize,
}

impl Digits {
    /// Low bits of a word that the digits leave out.
    pub(super) const fn dropped_bits(self) -> u32 {
        LOG2_Q - self.count as u32 * self.bits
    }

    /// The digits of a word, rounded to nearest, less 2^(D − 1) each; the lowest first.
    pub(super) fn split(self, word: u32) -> impl Iterator<Item = i16> {
        let dropped = self.dropped_bits();
        let rounded = u64::from(word.wrapping_add((1 << dropped) >> 1) >> dropped);
        let (mask, half) = ((1u64 << self.bits) - 1, 1i32 << (self.bits - 1));
        (0..self.count as u32).map(move |k| ((rounded >> (self.bits * k) & mask) as i32 - half) as i16)
    }

    /// The rounded word of digits that count modulo 2^D, less 2^(D − 1) each.
    pub(super) fn join(self, digits: &[u32]) -> u32 {
        let (mask, half) = ((1u64 << self.bits) - 1, 1u64 << (self.bits - 1));
        let unsigned = digits.iter().rev().map(|&digit| (u64::from(digit) + half) & mask);
        (unsigned.fold(0, |word, digit| word << self.bits | digit) << self.dropped_bits()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_for_the_rounded_word() {
        for (bits, count) in [(7, 3), (7, 2), (3, 8), (11, 1), (16, 2), (4, 8), (1, 1)] {
            let digits = Digits { bits, count };
            let half = ((1u64 << digits.dropped_bits()) / 2) as i64;
            for word in [0, 1, 77, 1 << 31, 0x1234_5678, 0x7fff_ffff, 0xffff_ff00, u32::MAX] {
                let split: Vec<i16> = digits.split(word).collect();
                let limit = 1i32 << (bits - 1);
                assert!(split.iter().all(|&digit| (-limit..limit).contains(&i32::from(digit))), "{split:?}");
                let modulo = |digit: &i16| i32::from(*digit).rem_euclid(2 * limit) as u32;
                let joined = digits.join(&split.iter().map(modulo).collect::<Vec<_>>());
                let error = i64::from(word.wrapping_sub(joined) as i32);
                assert!((-half..=half).contains(&error), "{word:#x} in {digits:?}: off by {error}");
            }
        }
    }

    #[test]
    fn digits_that_are_none_do_not_fit() {
        let fits = |bits, mask, body| DigitShape { bits, mask, body }.fits();
        assert!(fits(7, 3, 2) && fits(16, 2, 1) && fits(1, 32, 32) && fits(11, 2, 1));
        assert!(!fits(0, 3, 2) && !fits(17, 1, 1) && !fits(7, 5, 2) && !fits(7, 0, 2) && !fits(7, 3, 0));
        assert!(!fits(7, 3, usize::MAX));
    }
}
