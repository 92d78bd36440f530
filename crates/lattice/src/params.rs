//! Checked parameters of ring encryption.
//!
//! Parameters below 128 bits of security require the explicit constructor [`RlweParams::insecure`].

use papir_ring::sample::Gaussian;
use papir_ring::{Ring, RingError};

use crate::security::{self, InsecureError, Row, Secret};

/// Primes of the default ring: both are 1 modulo 2¹⁶, and their product is below 2^55.9.
pub const DEFAULT_PRIMES: [u32; 2] = [268_369_921, 249_561_089];

/// Invalid or insecure parameters.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// The ring cannot be built.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// A prime of the ciphertext modulus divides the plaintext modulus; modulo this prime
    /// ciphertexts have no error.
    #[error("prime {0} of the ciphertext modulus divides the plaintext modulus: expected a coprime one")]
    PlaintextPrime(u32),
    /// The noise cannot be sampled.
    #[error(transparent)]
    Sigma(#[from] papir_ring::sample::SigmaError),
    /// The security table does not give 128 bits.
    #[error(transparent)]
    Insecure(#[from] InsecureError),
}

/// Unchecked parameters, as read from a file or a constant.
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
    /// d = 2048, q ≈ 2^55.9, σ = 6.4, secret distributed like the error: 131.5 bits.
    pub const DEFAULT: Self = Self { degree: 2048, primes: DEFAULT_PRIMES, sigma: 6.4 };
}

/// Checked parameters with the ring's and the sampler's tables.
#[derive(Clone, Debug)]
pub struct RlweParams {
    ring: Ring,
    error: Gaussian,
    secret: Secret,
    security: Option<&'static Row>,
}

impl RlweParams {
    /// Checks a literal against the security table; secrets are distributed like the error.
    ///
    /// # Errors
    /// [`ParamsError`].
    pub fn new(literal: Literal) -> Result<Self, ParamsError> {
        Self::with_secret(literal, Secret::ErrorLike)
    }

    /// [`RlweParams::new`] with another distribution of secrets.
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

    /// Builds parameters without a security check, for tests at small degrees.
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

    /// Distribution of secrets.
    pub fn secret(&self) -> Secret {
        self.secret
    }

    /// Distribution of errors, and of error-like secrets.
    pub fn error(&self) -> &Gaussian {
        &self.error
    }

    /// The covering row of the security table; `None` for insecure parameters.
    pub fn security(&self) -> Option<&'static Row> {
        self.security
    }
}
