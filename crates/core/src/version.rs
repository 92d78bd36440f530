//! Which preparation of a database a message belongs to.

use std::fmt;
use std::str::FromStr;

use rand_core::CryptoRng;

use crate::{Error, Result};

/// Names one prepared version of one database: eight random bytes drawn at setup.
///
/// A query carries the version it was made for, an answer the one it came from. Printed as 16
/// hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version(pub [u8; 8]);

impl Version {
    /// A fresh version.
    pub fn random(rng: &mut dyn CryptoRng) -> Self {
        Self(rng.next_u64().to_le_bytes())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version({self})")
    }
}

impl FromStr for Version {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || Error::malformed("a database version", text, "16 hexadecimal digits");
        if text.len() != 16 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let value = u64::from_str_radix(text, 16).map_err(|_| bad())?;
        Ok(Self(value.to_be_bytes()))
    }
}
