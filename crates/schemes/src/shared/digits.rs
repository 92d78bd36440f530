//! Words as digits, the lowest digit first.

use papir_lattice::lwe32::LOG2_Q;

/// Number and width of the digits of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits {
    /// D, the number of bits of a digit, at most 16.
    pub bits: u32,
    /// Number of digits of a word.
    pub count: usize,
}

impl Digits {
    /// Returns the number of bits of a word.
    pub const fn word_bits(self) -> u32 {
        self.bits * self.count as u32
    }

    /// Returns the digits of a word of [`Self::word_bits`] bits.
    pub fn split(self, word: u64) -> impl Iterator<Item = u64> {
        (0..self.count as u32).map(move |k| word >> (self.bits * k) & self.mask())
    }

    /// Returns the digits of [`Self::split`], with 2^(D − 1) subtracted from each.
    pub fn split_centred(self, word: u64) -> impl Iterator<Item = i16> {
        // With at most 16 bits a centred digit is from −2^15 to 2^15 − 1.
        let half = self.half() as i32;
        self.split(word)
            .map(move |digit| (digit as i32 - half) as i16)
    }

    /// Returns the digit of a centred digit modulo 2^D.
    pub fn uncentred(self, digit: u32) -> u64 {
        (u64::from(digit) + self.half()) & self.mask()
    }

    /// Returns the word of these digits.
    pub fn join(self, digits: impl DoubleEndedIterator<Item = u64>) -> u64 {
        digits
            .rev()
            .fold(0, |word, digit| word << self.bits | digit)
    }

    /// Returns the number of low bits of a word modulo 2³² that the digits omit.
    pub const fn dropped_bits(self) -> u32 {
        LOG2_Q - self.word_bits()
    }

    /// Returns the leading bits of a word modulo 2³², rounded to nearest, for [`Self::split`].
    pub fn leading(self, word: u32) -> u64 {
        // A word that is rounded up beyond 2^32 wraps to 0, which is the same residue.
        let dropped = self.dropped_bits();
        u64::from(word.wrapping_add((1 << dropped) >> 1) >> dropped)
    }

    /// Returns the word modulo 2³² whose leading bits have these digits.
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
