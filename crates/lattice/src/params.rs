//! Checked parameters of ring encryption.
//!
//! Parameters below 128 bits of security require the explicit constructor [`RlweParams::insecure`].

use papir_ring::sample::Gaussian;
use papir_ring::{CyclotomicRing, Ring, RingError};

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
    #[error(
        "prime {0} of the ciphertext modulus divides the plaintext modulus: expected a coprime one"
    )]
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
    pub const DEFAULT: Self = Self {
        degree: 2048,
        primes: DEFAULT_PRIMES,
        sigma: 6.4,
    };
}

/// Checked parameters with the ring's and the sampler's tables.
#[derive(Clone, Debug)]
pub struct RlweParams<R = Ring> {
    ring: R,
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
        Self::over(
            Ring::new(literal.degree, literal.primes)?,
            secret,
            literal.sigma,
        )
    }

    /// Builds parameters without a security check, for tests at small degrees.
    ///
    /// # Errors
    /// [`ParamsError::Ring`] or [`ParamsError::Sigma`].
    pub fn insecure(literal: Literal) -> Result<Self, ParamsError> {
        Self::insecure_over(
            Ring::new(literal.degree, literal.primes)?,
            Secret::ErrorLike,
            literal.sigma,
        )
    }
}

impl<R: CyclotomicRing> RlweParams<R> {
    /// Checks a ring, a distribution of secrets and an error's standard deviation against the
    /// security table.
    ///
    /// # Errors
    /// [`ParamsError::Sigma`] or [`ParamsError::Insecure`].
    pub fn over(ring: R, secret: Secret, sigma: f64) -> Result<Self, ParamsError> {
        let log2_q = (ring.modulus() as f64).log2();
        // Before the sampler is made: what is insecure is refused as such.
        let row = security::require_128(ring.degree(), log2_q, secret, sigma)?;
        Ok(Self {
            security: Some(row),
            ..Self::insecure_over(ring, secret, sigma)?
        })
    }

    /// [`RlweParams::over`] without a security check.
    ///
    /// # Errors
    /// [`ParamsError::Sigma`].
    pub fn insecure_over(ring: R, secret: Secret, sigma: f64) -> Result<Self, ParamsError> {
        Ok(Self {
            ring,
            error: Gaussian::new(sigma)?,
            secret,
            security: None,
        })
    }

    /// R_q.
    pub fn ring(&self) -> &R {
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
