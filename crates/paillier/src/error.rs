//! What can go wrong: each error says what was found and what was expected.

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a key, a ciphertext or a parameter is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A size that this crate does not take.
    #[error("{what} is {found}: expected {expected}")]
    OutOfBounds {
        /// The quantity.
        what: &'static str,
        /// Its value.
        found: u64,
        /// What would be accepted, in words.
        expected: String,
    },
    /// A modulus below the security that papir ships.
    #[error("insecure modulus of {found} bits: expected at least {expected}")]
    Insecure {
        /// Bits asked for.
        found: u32,
        /// The fewest bits.
        expected: u32,
    },
    /// Bytes or words of the wrong number.
    #[error("{what}: found {found}, expected {expected}")]
    Length {
        /// What was counted.
        what: &'static str,
        /// Found.
        found: usize,
        /// Expected.
        expected: usize,
    },
    /// Bytes that are no key of this version.
    #[error("{what} is malformed: found {found}, expected {expected}")]
    Malformed {
        /// What was parsed.
        what: &'static str,
        /// What stood there.
        found: String,
        /// What should have stood there.
        expected: String,
    },
    /// A public modulus that cannot be the product of two large primes of the same size.
    #[error("the modulus is {found}: expected a product of two primes of the same size")]
    Modulus {
        /// What is wrong with it.
        found: ModulusFault,
    },
    /// Primes of a secret key that do not make one.
    #[error("the secret key's primes {found}")]
    Primes {
        /// What is wrong with them.
        found: &'static str,
    },
    /// A residue that is not below its modulus, or zero where units are expected.
    #[error("{what} is {found}: expected {expected}")]
    Residue {
        /// Which number.
        what: &'static str,
        /// What is wrong with it.
        found: &'static str,
        /// What would be accepted.
        expected: &'static str,
    },
    /// Things that belong to different keys or shapes.
    #[error("{what} of another shape: found {found}, expected {expected}")]
    Mismatch {
        /// What does not fit.
        what: &'static str,
        /// Found.
        found: String,
        /// Expected.
        expected: String,
    },
}

/// What is wrong with a public modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModulusFault {
    /// Fewer or more bits than the parameters say.
    #[error("of {found} bits, not {expected},")]
    Bits {
        /// Bits of the number.
        found: u32,
        /// Bits of the parameters.
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
        Self::OutOfBounds { what, found, expected: expected.to_string() }
    }

    pub(crate) fn mismatch(what: &'static str, found: impl ToString, expected: impl ToString) -> Self {
        Self::Mismatch { what, found: found.to_string(), expected: expected.to_string() }
    }

    pub(crate) fn check_length(what: &'static str, found: usize, expected: usize) -> Result<()> {
        if found == expected { Ok(()) } else { Err(Self::Length { what, found, expected }) }
    }
}
