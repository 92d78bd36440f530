//! Checked parameters of ring encryption: no security below 128 bits without saying so.

use papir_ring::sample::Gaussian;
use papir_ring::{Ring, RingError};

use crate::security::{self, InsecureError, Row, Secret};

/// The primes of the default ring: both 1 modulo 2¹⁶, their product below 2^55.9.
pub const DEFAULT_PRIMES: [u32; 2] = [268_369_921, 249_561_089];

/// Why parameters are refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// The ring does not exist.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// A prime of the ciphertext modulus divides the plaintext modulus: modulo it there is no error.
    #[error("prime {0} of the ciphertext modulus divides the plaintext modulus: expected others")]
    PlaintextPrime(u32),
    /// The noise cannot be sampled.
    #[error(transparent)]
    Sigma(#[from] papir_ring::sample::SigmaError),
    /// No row of the security table gives 128 bits.
    #[error(transparent)]
    Insecure(#[from] InsecureError),
}

/// Unchecked values, as they come from a file or a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Literal {
    /// d.
    pub degree: usize,
    /// q₁, q₂.
    pub primes: [u32; 2],
    /// Standard deviation of secret and error.
    pub sigma: f64,
}

impl Literal {
    /// d = 2048, q ≈ 2^55.9, σ = 6.4, secret drawn like the error: 131.5 bits.
    pub const DEFAULT: Self = Self { degree: 2048, primes: DEFAULT_PRIMES, sigma: 6.4 };
}

/// Parameters of ring encryption and their tables.
#[derive(Clone, Debug)]
pub struct RlweParams {
    ring: Ring,
    error: Gaussian,
    secret: Secret,
    security: Option<&'static Row>,
}

impl RlweParams {
    /// Checks a literal against the security table and builds the tables; the secret is drawn like the error.
    ///
    /// # Errors
    /// [`ParamsError`].
    pub fn new(literal: Literal) -> Result<Self, ParamsError> {
        Self::with_secret(literal, Secret::ErrorLike)
    }

    /// As [`RlweParams::new`], with secrets of this kind.
    ///
    /// # Errors
    /// [`ParamsError`].
    pub fn with_secret(literal: Literal, secret: Secret) -> Result<Self, ParamsError> {
        let mut params = Self { secret, ..Self::insecure(literal)? };
        let log2_q = (params.ring.modulus() as f64).log2();
        let row = security::require_128(literal.degree, log2_q, secret, literal.sigma)?;
        params.security = Some(row);
        Ok(params)
    }

    /// Builds the tables without asking for security: for tests at small degrees.
    ///
    /// # Errors
    /// [`ParamsError::Ring`] or [`ParamsError::Sigma`].
    pub fn insecure(literal: Literal) -> Result<Self, ParamsError> {
        let ring = Ring::new(literal.degree, literal.primes)?;
        let error = Gaussian::new(literal.sigma)?;
        Ok(Self { ring, error, secret: Secret::ErrorLike, security: None })
    }

    /// R_q.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// How secrets are drawn.
    pub fn secret(&self) -> Secret {
        self.secret
    }

    /// The distribution of the error, and of a secret that is drawn like it.
    pub fn error(&self) -> &Gaussian {
        &self.error
    }

    /// The row of the security table, `None` for insecure parameters.
    pub fn security(&self) -> Option<&'static Row> {
        self.security
    }
}
