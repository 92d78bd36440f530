//! Bound on the probability that an answer fails to decode.

use std::fmt;
use std::str::FromStr;

use crate::{Error, decimal};

/// The largest allowed probability that an honest answer does not decode: 2⁻¹²⁸ to 2⁻⁴⁰, the
/// default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureBound(u8);

impl FailureBound {
    /// The default bound, 2⁻⁴⁰.
    pub const DEFAULT: Self = Self(40);
    /// The smallest bound, 2⁻¹²⁸.
    pub const LEAST: Self = Self(128);

    /// The bound 2^−`bits`.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] unless `bits` is 40 to 128.
    pub fn of_bits(bits: u64) -> Result<Self, Error> {
        match u8::try_from(bits) {
            Ok(bits @ 40..=128) => Ok(Self(bits)),
            _ => Err(Error::out_of_bounds(
                "-log2 of a failure probability",
                bits,
                "40 to 128",
            )),
        }
    }

    /// −log₂ of the bound.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// log₂ of the bound.
    pub fn log2(self) -> f64 {
        -f64::from(self.0)
    }

    /// Number of bits by which the bound is stricter than the default.
    pub fn beyond_default(self) -> f64 {
        f64::from(self.0 - Self::DEFAULT.0)
    }

    /// Returns true for the default bound.
    pub fn is_default(self) -> bool {
        self == Self::DEFAULT
    }
}

impl Default for FailureBound {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for FailureBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "2^-{}", self.0)
    }
}

impl FromStr for FailureBound {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bits = text.strip_prefix("2^-").and_then(decimal);
        let bound = bits.and_then(|bits| Self::of_bits(bits).ok());
        bound.ok_or_else(|| Error::malformed("a failure probability", text, "2^-40 to 2^-128"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_written_as_powers() {
        for text in ["2^-40", "2^-41", "2^-128"] {
            assert_eq!(text.parse::<FailureBound>().unwrap().to_string(), text);
        }

        for text in [
            "",
            "40",
            "-40",
            "2^40",
            "2^-39",
            "2^-129",
            "2^-40.5",
            "2^--40",
            "2^-+40",
            "2^-040",
            "1e-12",
            "2^-99999999999999999999",
        ] {
            let error = text.parse::<FailureBound>().unwrap_err().to_string();
            assert!(error.contains("2^-40 to 2^-128"), "{text}: {error}");
        }

        assert!(FailureBound::of_bits(39).is_err() && FailureBound::of_bits(296).is_err());
    }

    #[test]
    fn the_default_is_the_loosest() {
        assert!(FailureBound::DEFAULT.is_default() && !FailureBound::LEAST.is_default());
        assert_eq!(FailureBound::LEAST.log2(), -128.0);
        assert_eq!(FailureBound::LEAST.beyond_default(), 88.0);
    }
}
