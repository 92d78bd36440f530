//! Errors, each with what was found and what was expected.

/// Result of the fallible functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An invalid key, ciphertext or parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An unsupported size.
    #[error("{what} is {found}: expected {expected}")]
    OutOfBounds {
        /// The quantity.
        what: &'static str,
        /// Its value.
        found: u64,
        /// Accepted values, in words.
        expected: String,
    },
    /// A modulus below papir's minimum size.
    #[error("insecure modulus of {found} bits: expected at least {expected}")]
    Insecure {
        /// Requested bits.
        found: u32,
        /// Minimum number of bits.
        expected: u32,
    },
    /// A wrong number of bytes or words.
    #[error("{what}: found {found}, expected {expected}")]
    Length {
        /// Name of the counted bytes or words.
        what: &'static str,
        /// Actual number.
        found: usize,
        /// Expected number.
        expected: usize,
    },
    /// Malformed bytes, or bytes of another version.
    #[error("{what} is malformed: found {found}, expected {expected}")]
    Malformed {
        /// Name of the parsed bytes.
        what: &'static str,
        /// The bytes found.
        found: String,
        /// The bytes expected.
        expected: String,
    },
    /// A public modulus that cannot be the product of two large primes of the same size.
    #[error("the modulus is {found}: expected a product of two primes of the same size")]
    Modulus {
        /// The fault.
        found: ModulusFault,
    },
    /// Primes that do not form a secret key.
    #[error("the secret key's primes {found}")]
    Primes {
        /// The fault.
        found: &'static str,
    },
    /// A residue not below its modulus, or zero where units are expected.
    #[error("{what} is {found}: expected {expected}")]
    Residue {
        /// Name of the number.
        what: &'static str,
        /// The fault.
        found: &'static str,
        /// Accepted values.
        expected: &'static str,
    },
    /// Inputs of different keys or shapes.
    #[error("{what} of another shape: found {found}, expected {expected}")]
    Mismatch {
        /// Name of the input.
        what: &'static str,
        /// Found.
        found: String,
        /// Expected.
        expected: String,
    },
}

/// Fault of a public modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModulusFault {
    /// A number of bits that differs from the parameters.
    #[error("of {found} bits, not {expected}")]
    Bits {
        /// Bits of the number.
        found: u32,
        /// Bits according to the parameters.
        expected: u32,
    },
    /// Divisible by two.
    #[error("even")]
    Even,
    /// Divisible by a prime below [`crate::TRIAL_BOUND`].
    #[error("divisible by {0}")]
    SmallFactor(u32),
    /// A square.
    #[error("a square")]
    Square,
    /// A prime.
    #[error("prime")]
    Prime,
}

impl Error {
    pub(crate) fn out_of_bounds(what: &'static str, found: u64, expected: impl ToString) -> Self {
        Self::OutOfBounds {
            what,
            found,
            expected: expected.to_string(),
        }
    }

    pub(crate) fn mismatch(
        what: &'static str,
        found: impl ToString,
        expected: impl ToString,
    ) -> Self {
        Self::Mismatch {
            what,
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }

    pub(crate) fn primes(found: &'static str) -> Self {
        Self::Primes { found }
    }

    pub(crate) fn check_length(what: &'static str, found: usize, expected: usize) -> Result<()> {
        if found == expected {
            Ok(())
        } else {
            Err(Self::Length {
                what,
                found,
                expected,
            })
        }
    }
}
