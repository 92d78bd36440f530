//! Words modulo q as digits: the paper's `Decomp` and `Recomp`, of the leading bits only.

use papir_lattice::lwe32::LOG2_Q;

/// Bits of a digit.
pub(crate) const DIGIT_BITS: u32 = 7;
/// Half of what a digit counts to: what centring takes off.
pub(crate) const CENTRE: u8 = 1 << (DIGIT_BITS - 1);

/// How many digits stand for a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digits {
    /// Digits, the lowest first.
    pub(crate) count: usize,
}

/// Digits of a word of the first hint. Its rounding meets the secret, so it needs more than a body.
pub(crate) const MASK: Digits = Digits { count: 3 };
/// Digits of a word of the first answer.
pub(crate) const BODY: Digits = Digits { count: 2 };

impl Digits {
    /// Low bits of a word that the digits leave out.
    pub(crate) const fn dropped_bits(self) -> u32 {
        LOG2_Q - self.count as u32 * DIGIT_BITS
    }

    /// The digits of a word, rounded to nearest, modulo q.
    pub(crate) fn split(self, word: u32) -> impl Iterator<Item = u8> {
        let dropped = self.dropped_bits();
        let rounded = word.wrapping_add(1 << (dropped - 1)) >> dropped;
        (0..self.count as u32).map(move |k| (rounded >> (DIGIT_BITS * k)) as u8 & ((1 << DIGIT_BITS) - 1))
    }

    /// The rounded word that has these digits.
    pub(crate) fn join(self, digits: &[u8]) -> u32 {
        let word = digits.iter().rev().fold(0u32, |word, &digit| word << DIGIT_BITS | u32::from(digit));
        word << self.dropped_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_for_the_rounded_word() {
        for digits in [MASK, BODY] {
            let half = 1 << (digits.dropped_bits() - 1);
            for word in [0, 1, half - 1, half, half + 1, 1 << 31, 0x1234_5678, u32::MAX - half, u32::MAX] {
                let split: Vec<u8> = digits.split(word).collect();
                assert_eq!(split.len(), digits.count);
                assert!(split.iter().all(|&digit| digit < 2 * CENTRE), "{word:#x}: {split:?}");
                let error = word.wrapping_sub(digits.join(&split)) as i32;
                assert!((-(half as i32)..half as i32).contains(&error), "{word:#x}: off by {error}");
            }
        }
    }
}
