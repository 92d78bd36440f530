//! Roots of verifiable databases.

use std::fmt;
use std::str::FromStr;

use papir_core::{Error, Result};

use super::tree::HASH_BYTES;

/// The root of a database: a hash of its records and of the layout of its keys. Its text has 64
/// hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Root(pub [u8; HASH_BYTES]);

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Root({self})")
    }
}

impl FromStr for Root {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        // The digits are checked first, since `from_str_radix` accepts a sign as well.
        if text.len() != 2 * HASH_BYTES || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(not_a_root(text));
        }

        let mut root = [0; HASH_BYTES];
        for (byte, pair) in root.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digits = std::str::from_utf8(pair).map_err(|_| not_a_root(text))?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| not_a_root(text))?;
        }
        Ok(Self(root))
    }
}

fn not_a_root(text: &str) -> Error {
    Error::malformed("a root", text, "64 hexadecimal digits")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn roots_print_and_parse() {
        let root = Root(std::array::from_fn(|i| i as u8 * 7));
        assert_eq!(root.to_string().parse::<Root>().unwrap(), root);
        for bad in ["", "00", &"g".repeat(64), &"é".repeat(32), &"0".repeat(65)] {
            assert!(bad.parse::<Root>().is_err(), "{bad}");
        }
    }
}
