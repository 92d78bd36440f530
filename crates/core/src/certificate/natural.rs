//! Natural numbers of any length, for exact rationals.

use std::fmt;

/// Digits of a block of decimal digits that a division by a word takes off.
const BLOCK: u32 = 1_000_000_000;

/// A natural number: words of 32 bits, the lowest first, and the highest is not zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Natural(Vec<u32>);

impl Natural {
    pub(super) fn new(value: u128) -> Self {
        let words = (0..4).map(|i| (value >> (32 * i)) as u32).collect();
        Self::trimmed(words)
    }

    /// Returns 2 to the power of `exponent`.
    pub(super) fn power_of_two(exponent: u32) -> Self {
        let mut words = vec![0; exponent as usize / 32];
        words.push(1 << (exponent % 32));
        Self(words)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_one(&self) -> bool {
        self.0 == [1]
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let length = self.0.len().max(other.0.len());
        let mut words = Vec::with_capacity(length + 1);
        let mut carry = 0u64;
        for i in 0..length {
            let sum = carry + self.word(i) + other.word(i);
            words.push(sum as u32);
            carry = sum >> 32;
        }

        words.push(carry as u32);
        Self::trimmed(words)
    }

    /// Returns the difference, or 0 if `other` is larger.
    pub(super) fn less(&self, other: &Self) -> Self {
        let length = self.0.len().max(other.0.len());
        let mut words = Vec::with_capacity(length);
        let mut borrow = 0i64;
        for i in 0..length {
            let difference = self.word(i) as i64 - other.word(i) as i64 - borrow;
            // The low bits of a negative difference are those of the difference plus 2^32.
            words.push(difference as u32);
            borrow = i64::from(difference < 0);
        }

        if borrow == 1 {
            return Self(Vec::new());
        }
        Self::trimmed(words)
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        let mut words = vec![0u32; self.0.len() + other.0.len()];
        for (i, &one) in self.0.iter().enumerate() {
            let mut carry = 0u64;
            for (j, &word) in other.0.iter().enumerate() {
                // At most 2^64 − 1: the square of a word's largest value, and two words.
                let sum = u64::from(words[i + j]) + u64::from(one) * u64::from(word) + carry;
                words[i + j] = sum as u32;
                carry = sum >> 32;
            }
            words[i + other.0.len()] = carry as u32;
        }

        Self::trimmed(words)
    }

    /// Returns quotient and remainder of a division by a word that is not zero.
    pub(super) fn divided(&self, divisor: u32) -> (Self, u32) {
        let divisor = u64::from(divisor);
        let mut words = self.0.clone();
        let mut rest = 0u64;
        for word in words.iter_mut().rev() {
            let value = (rest << 32) | u64::from(*word);
            *word = (value / divisor) as u32;
            rest = value % divisor;
        }

        (Self::trimmed(words), rest as u32)
    }

    fn word(&self, i: usize) -> u64 {
        self.0.get(i).copied().map_or(0, u64::from)
    }

    fn trimmed(mut words: Vec<u32>) -> Self {
        while words.last() == Some(&0) {
            words.pop();
        }
        Self(words)
    }
}

impl fmt::Display for Natural {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut blocks = Vec::new();
        let mut rest = self.clone();
        while !rest.is_zero() {
            let (quotient, block) = rest.divided(BLOCK);
            blocks.push(block);
            rest = quotient;
        }

        write!(f, "{}", blocks.pop().unwrap_or(0))?;
        for block in blocks.iter().rev() {
            write!(f, "{block:09}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_agrees_with_machine_words() {
        let values: [u128; 7] = [
            0,
            1,
            9,
            999_999_999,
            1_000_000_000,
            1 << 32,
            u64::MAX.into(),
        ];
        for a in values {
            for b in values {
                let [x, y] = [a, b].map(Natural::new);
                assert_eq!(x.plus(&y), Natural::new(a + b), "{a} + {b}");
                assert_eq!(x.times(&y), Natural::new(a * b), "{a} * {b}");
                assert_eq!(x.less(&y), Natural::new(a.saturating_sub(b)), "{a} - {b}");
            }

            assert_eq!(Natural::new(a).to_string(), a.to_string());
            let expected = (Natural::new(a / 7), (a % 7) as u32);
            assert_eq!(Natural::new(a).divided(7), expected);
        }
    }

    #[test]
    fn long_numbers_are_written_in_full() {
        let power = Natural::power_of_two(200);
        let expected = "1606938044258990275541962092341162602522202993782792835301376";

        assert_eq!(power.to_string(), expected);
        assert_eq!(
            Natural::power_of_two(100).times(&Natural::power_of_two(100)),
            power
        );
        assert_eq!(power.less(&Natural::new(1)).plus(&Natural::new(1)), power);
    }
}
