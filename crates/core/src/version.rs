//! Versions of prepared databases.

use std::fmt;

use rand_core::CryptoRng;

/// The version of a prepared database: eight random bytes drawn at setup.
///
/// A query carries the version that it was made for, and an answer the version that made it. The
/// text of a version has 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version(pub [u8; 8]);

impl Version {
    /// Draws a random version.
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
