//! The rings of packed selections.

use papir_lattice::noise::{Setting, rounding};
use papir_lattice::params::{Literal as RlweLiteral, ParamsError, RlweParams};
use papir_lattice::security::Secret;

/// d of all rings.
pub(super) const DEGREE: usize = RlweLiteral::DEFAULT.degree;
/// Primes 1 modulo 2¹², whose product is below 2⁵³.
const SHORT_PRIMES: [u32; 2] = [134_176_769, 67_104_769];

/// A ring and the distribution of its secrets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelectionRing {
    /// Degree, modulus and errors.
    pub literal: RlweLiteral,
    /// Distribution of secrets.
    pub secret: Secret,
}

impl SelectionRing {
    /// q of 55.9 bits, secrets like the error.
    pub const ERROR_LIKE: Self = Self {
        literal: RlweLiteral::DEFAULT,
        secret: Secret::ErrorLike,
    };
    /// q of 53 bits, ternary secrets: what a gadget drops, and what a mask is rounded by, is
    /// multiplied with the secret and so adds a 60th of the variance.
    pub const TERNARY: Self = Self {
        literal: RlweLiteral {
            primes: SHORT_PRIMES,
            ..RlweLiteral::DEFAULT
        },
        secret: Secret::Ternary,
    };

    /// The tables, with the check of security.
    pub(super) fn params(&self) -> Result<RlweParams, ParamsError> {
        RlweParams::with_secret(self.literal, self.secret)
    }

    /// q.
    pub(super) fn modulus(&self) -> f64 {
        self.literal.primes.map(f64::from).iter().product()
    }

    /// Bits of q: the digits of a gadget and the dropped bits together.
    pub(super) fn modulus_bits(&self) -> u32 {
        self.most_bits() + 1
    }

    /// Most bits of a rounded coefficient: 2 to the power of these is below q.
    pub(super) fn most_bits(&self) -> u32 {
        self.modulus().log2() as u32
    }

    /// σ.
    pub(super) fn sigma(&self) -> f64 {
        self.literal.sigma
    }

    /// Mean square of a secret's coefficient.
    fn secret_square(&self) -> f64 {
        match self.secret {
            Secret::ErrorLike => self.sigma() * self.sigma(),
            Secret::Ternary => 2.0 / 3.0,
            Secret::Binary => 0.5,
        }
    }

    /// Standard deviation of a secret's coefficient.
    pub(super) fn secret_deviation(&self) -> f64 {
        self.secret_square().sqrt()
    }

    /// Setting of keys that are rounded to these bits.
    pub(super) fn setting(&self, key_bits: u32) -> Setting {
        let setting = Setting::error_like(DEGREE, self.modulus(), self.sigma(), key_bits);
        Setting {
            secret: self.secret_square(),
            ..setting
        }
    }

    /// Rounding step of a coefficient that is sent in `bits` bits.
    pub(super) fn step(&self, bits: u32) -> f64 {
        self.modulus() / 2f64.powi(bits as i32)
    }

    /// Variance of switching the mask to `bits` bits.
    pub(super) fn mask_switch(&self, bits: u32) -> f64 {
        DEGREE as f64 * self.secret_square() * rounding(self.step(bits))
    }
}
