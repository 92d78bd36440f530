//! Exact rationals that are not negative.

use std::fmt;
use std::ops::{Add, Div, Mul};

use super::natural::Natural;

/// A rational number that is not negative.
///
/// Numerator and denominator have no common factor 2, 3 or 5, which are the primes of almost all
/// denominators in noise bounds. Equality compares both, so it is equality of numbers only where
/// that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rational {
    numerator: Natural,
    denominator: Natural,
}

impl Rational {
    /// The quotient of two numbers.
    pub fn new(numerator: u128, denominator: u128) -> Self {
        Self::reduced(Natural::new(numerator), Natural::new(denominator))
    }

    /// 2 to the power of `exponent`.
    pub fn power_of_two(exponent: i32) -> Self {
        let power = Natural::power_of_two(exponent.unsigned_abs());
        let one = Natural::new(1);

        if exponent < 0 {
            Self::reduced(one, power)
        } else {
            Self::reduced(power, one)
        }
    }

    /// The exact value of a float, or `None` if it is negative, infinite or NaN.
    pub fn of_float(value: f64) -> Option<Self> {
        if !(0.0..f64::INFINITY).contains(&value) {
            return None;
        }

        let bits = value.to_bits();
        let exponent = ((bits >> 52) & 0x7ff) as i32;
        let fraction = bits & ((1 << 52) - 1);
        // Numbers below 2^-1022 have no leading bit, and the exponent of the smallest ones above.
        let leading = u64::from(exponent > 0) << 52;
        let scale = Self::power_of_two(exponent.max(1) - 1075);

        Some(scale * (leading | fraction))
    }

    /// The shortest decimal number that rounds to a float, so that 6.4 is 32/5; `None` if the float
    /// is negative, infinite or NaN, or the number has more than 30 digits.
    pub fn of_decimal(value: f64) -> Option<Self> {
        let text = value.to_string();
        let (whole, fraction) = text.split_once('.').unwrap_or((text.as_str(), ""));

        let numerator = format!("{whole}{fraction}");
        if numerator.len() > 30 {
            return None;
        }
        let denominator = 10u128.pow(fraction.len() as u32);
        Some(Self::new(numerator.parse().ok()?, denominator))
    }

    /// The square.
    #[must_use]
    pub fn squared(&self) -> Self {
        self * self
    }

    /// The difference, or 0 if `other` is larger.
    #[must_use]
    pub fn less(&self, other: impl Into<Self>) -> Self {
        let other = other.into();
        let mine = self.numerator.times(&other.denominator);
        let theirs = other.numerator.times(&self.denominator);
        let denominator = self.denominator.times(&other.denominator);
        Self::reduced(mine.less(&theirs), denominator)
    }

    /// Removes common factors 2, 3 and 5.
    fn reduced(mut numerator: Natural, mut denominator: Natural) -> Self {
        if numerator.is_zero() {
            return Self {
                numerator,
                denominator: Natural::new(1),
            };
        }

        for prime in [2, 3, 5] {
            // A denominator of zero, which no number has, would be divided forever.
            while !denominator.is_zero() {
                let (above, of_numerator) = numerator.divided(prime);
                let (below, of_denominator) = denominator.divided(prime);
                if of_numerator != 0 || of_denominator != 0 {
                    break;
                }
                numerator = above;
                denominator = below;
            }
        }

        Self {
            numerator,
            denominator,
        }
    }
}

impl From<u32> for Rational {
    fn from(value: u32) -> Self {
        Self::new(value.into(), 1)
    }
}

impl From<u64> for Rational {
    fn from(value: u64) -> Self {
        Self::new(value.into(), 1)
    }
}

impl From<usize> for Rational {
    fn from(value: usize) -> Self {
        Self::new(value as u128, 1)
    }
}

impl From<&Rational> for Rational {
    fn from(value: &Rational) -> Self {
        value.clone()
    }
}

impl<T: Into<Rational>> Add<T> for &Rational {
    type Output = Rational;

    fn add(self, other: T) -> Rational {
        let other = other.into();
        let mine = self.numerator.times(&other.denominator);
        let theirs = other.numerator.times(&self.denominator);
        let denominator = self.denominator.times(&other.denominator);
        Rational::reduced(mine.plus(&theirs), denominator)
    }
}

impl<T: Into<Rational>> Mul<T> for &Rational {
    type Output = Rational;

    fn mul(self, other: T) -> Rational {
        let other = other.into();
        let numerator = self.numerator.times(&other.numerator);
        let denominator = self.denominator.times(&other.denominator);
        Rational::reduced(numerator, denominator)
    }
}

impl<T: Into<Rational>> Div<T> for &Rational {
    type Output = Rational;

    fn div(self, other: T) -> Rational {
        let other = other.into();
        let numerator = self.numerator.times(&other.denominator);
        let denominator = self.denominator.times(&other.numerator);
        Rational::reduced(numerator, denominator)
    }
}

impl<T: Into<Rational>> Add<T> for Rational {
    type Output = Self;

    fn add(self, other: T) -> Self {
        &self + other
    }
}

impl<T: Into<Rational>> Mul<T> for Rational {
    type Output = Self;

    fn mul(self, other: T) -> Self {
        &self * other
    }
}

impl<T: Into<Rational>> Div<T> for Rational {
    type Output = Self;

    fn div(self, other: T) -> Self {
        &self / other
    }
}

impl fmt::Display for Rational {
    /// Writes `p/q`, or `p` for a whole number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.denominator.is_one() {
            write!(f, "{}", self.numerator)
        } else {
            write!(f, "{}/{}", self.numerator, self.denominator)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn decimals_and_floats_are_exact() {
        for (value, expected) in [(6.4, "32/5"), (11.0, "11"), (131.5, "263/2"), (0.0, "0")] {
            assert_eq!(Rational::of_decimal(value).unwrap().to_string(), expected);
        }
        for (value, expected) in [
            (0.75, "3/4"),
            (40.0, "40"),
            (0.1, "3602879701896397/36028797018963968"),
            (0.0, "0"),
        ] {
            assert_eq!(Rational::of_float(value).unwrap().to_string(), expected);
        }

        let least = Rational::of_float(f64::from_bits(1)).unwrap();
        assert_eq!(least, Rational::power_of_two(-1074));
        for refused in [-1.0, f64::INFINITY, f64::NAN] {
            assert_eq!(Rational::of_float(refused), None);
            assert_eq!(Rational::of_decimal(refused), None);
        }
        assert_eq!(Rational::of_decimal(1e40), None);
    }

    #[test]
    fn arithmetic_is_exact() {
        let third = Rational::new(1, 3);
        let sigma = Rational::new(32, 5);

        assert_eq!((&third + Rational::new(1, 6)).to_string(), "1/2");
        assert_eq!((&third * 12u32).to_string(), "4");
        assert_eq!((&third / 4u64).to_string(), "1/12");
        assert_eq!(sigma.squared().to_string(), "1024/25");
        assert_eq!(sigma.less(&third).to_string(), "91/15");
        assert_eq!(third.less(&sigma).to_string(), "0");
        let four = Rational::power_of_two(-70) * Rational::power_of_two(72);
        assert_eq!(four.to_string(), "4");
    }
}
