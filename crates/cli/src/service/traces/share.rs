//! The share of requests that are traced.

use std::fmt;
use std::str::FromStr;

/// A share from 0 to 1; 1 by default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share(f64);

impl Share {
    /// The share as a number.
    #[cfg_attr(not(feature = "otlp"), expect(dead_code, reason = "for the export"))]
    pub(crate) fn get(self) -> f64 {
        self.0
    }
}

impl Default for Share {
    fn default() -> Self {
        Self(1.0)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(Self(share)),
            _ => Err(format!(
                "invalid share `{text}`: expected a number from 0 to 1"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_between_0_and_1() {
        for text in ["0", "0.25", "1"] {
            assert_eq!(
                text.parse::<Share>().map(|share| share.to_string()),
                Ok(text.to_owned())
            );
        }
        for text in ["-0.1", "1.1", "NaN", "all", ""] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }
}
