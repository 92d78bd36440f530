//! DECOMPOSE (Algorithm 5) and COMPOSE (Algorithm 6): words of a switched encryption as digits.

/// Balanced digits of so many bits, the lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits {
    /// D, 1 to 16.
    pub bits: u32,
    /// τ.
    pub count: usize,
}

impl Digits {
    /// Bits of a word.
    pub const fn word_bits(self) -> u32 {
        self.bits * self.count as u32
    }

    /// The digits of a word less 2^(D − 1) each, in [−2^(D − 1), 2^(D − 1)).
    pub fn split(self, word: u64) -> impl Iterator<Item = i16> {
        let (mask, half) = ((1u64 << self.bits) - 1, 1i32 << (self.bits - 1));
        (0..self.count as u32).map(move |k| ((word >> (self.bits * k) & mask) as i32 - half) as i16)
    }

    /// Adds digit `k`, as a second level decrypts it (modulo 2^D, less 2^(D − 1)), to a word.
    pub fn join(self, word: u64, k: usize, digit: u32) -> u64 {
        let (mask, half) = ((1u64 << self.bits) - 1, 1u64 << (self.bits - 1));
        word | ((u64::from(digit) + half) & mask) << (self.bits as usize * k)
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
                let split: Vec<i16> = digits.split(word).collect();
                let half = 1i32 << (digits.bits - 1);
                assert!(split.iter().all(|&digit| (-half..half).contains(&i32::from(digit))), "{split:?}");
                let modulo = |digit: i16| i32::from(digit).rem_euclid(2 * half) as u32;
                let joined =
                    split.iter().enumerate().fold(0, |word, (k, &digit)| digits.join(word, k, modulo(digit)));
                assert_eq!(joined, word, "{digits:?}");
            }
        }
    }
}
