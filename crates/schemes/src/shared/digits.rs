//! Words as digits, the lowest first.

use papir_lattice::lwe32::LOG2_Q;

/// Number and width of the digits of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits {
    /// D, bits of a digit, at most 16.
    pub bits: u32,
    /// Digits of a word.
    pub count: usize,
}

impl Digits {
    /// Bits of a word.
    pub const fn word_bits(self) -> u32 {
        self.bits * self.count as u32
    }

    /// The digits of a word of [`Self::word_bits`] bits.
    pub fn split(self, word: u64) -> impl Iterator<Item = u64> {
        (0..self.count as u32).map(move |k| word >> (self.bits * k) & self.mask())
    }

    /// [`Self::split`] with 2^(D − 1) subtracted from each digit.
    pub fn split_centred(self, word: u64) -> impl Iterator<Item = i16> {
        let half = self.half() as i32;
        self.split(word).map(move |digit| (digit as i32 - half) as i16)
    }

    /// The digit that a centred one modulo 2^D stands for.
    pub fn uncentred(self, digit: u32) -> u64 {
        (u64::from(digit) + self.half()) & self.mask()
    }

    /// The word of these digits.
    pub fn join(self, digits: impl DoubleEndedIterator<Item = u64>) -> u64 {
        digits.rev().fold(0, |word, digit| word << self.bits | digit)
    }

    /// Low bits of a word modulo 2³² that the digits omit.
    pub const fn dropped_bits(self) -> u32 {
        LOG2_Q - self.word_bits()
    }

    /// Leading bits of a word modulo 2³², rounded to nearest, for [`Self::split`].
    pub fn leading(self, word: u32) -> u64 {
        let dropped = self.dropped_bits();
        u64::from(word.wrapping_add((1 << dropped) >> 1) >> dropped)
    }

    /// The word modulo 2³² whose leading bits have these digits.
    pub fn join_leading(self, digits: impl DoubleEndedIterator<Item = u64>) -> u32 {
        (self.join(digits) << self.dropped_bits()) as u32
    }

    const fn mask(self) -> u64 {
        (1 << self.bits) - 1
    }

    const fn half(self) -> u64 {
        1 << (self.bits - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_make_the_word() {
        for digits in
            [Digits { bits: 14, count: 2 }, Digits { bits: 7, count: 4 }, Digits { bits: 16, count: 2 }]
        {
            let top = (1u64 << digits.word_bits()) - 1;
            for word in [0, 1, top / 2, top / 2 + 1, top / 3, top - 1, top] {
                let split: Vec<i16> = digits.split_centred(word).collect();
                let half = 1i32 << (digits.bits - 1);
                assert!(split.iter().all(|&digit| (-half..half).contains(&i32::from(digit))), "{split:?}");
                let modulo = |digit: &i16| i32::from(*digit).rem_euclid(2 * half) as u32;
                let joined = digits.join(split.iter().map(|digit| digits.uncentred(modulo(digit))));
                assert_eq!(joined, word, "{digits:?}");
            }
        }
    }

    #[test]
    fn digits_stand_for_the_rounded_word() {
        for (bits, count) in [(7, 3), (7, 2), (3, 8), (11, 1), (16, 2), (4, 8), (1, 1)] {
            let digits = Digits { bits, count };
            let half = ((1u64 << digits.dropped_bits()) / 2) as i64;
            for word in [
                0,
                1,
                77,
                (half - 1).max(0) as u32,
                half as u32,
                half as u32 + 1,
                1 << 31,
                0x1234_5678,
                0x7fff_ffff,
                0xffff_ff00,
                u32::MAX - half as u32,
                u32::MAX,
            ] {
                let split: Vec<u64> = digits.split(digits.leading(word)).collect();
                let limit = 1i32 << (bits - 1);
                assert_eq!(split.len(), count);
                assert!(split.iter().all(|&digit| digit < 2 * limit as u64), "{word:#x}: {split:?}");
                let centred: Vec<i16> = digits.split_centred(digits.leading(word)).collect();
                let in_range = |&digit: &i16| (-limit..limit).contains(&i32::from(digit));
                assert!(centred.iter().all(in_range), "{centred:?}");
                let modulo = |digit: &i16| i32::from(*digit).rem_euclid(2 * limit) as u32;
                let uncentred = centred.iter().map(|digit| digits.uncentred(modulo(digit)));
                let joined = digits.join_leading(uncentred);
                assert_eq!(joined, digits.join_leading(split.into_iter()));
                let error = i64::from(word.wrapping_sub(joined) as i32);
                assert!((-half..=half).contains(&error), "{word:#x} in {digits:?}: off by {error}");
            }
        }
    }
}
