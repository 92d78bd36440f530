//! Rings of packed selections.

use papir_lattice::noise::{Setting, rounding};
use papir_lattice::params::{Literal as RlweLiteral, ParamsError, RlweParams};
use papir_lattice::security::Secret;

/// Degree d of all rings.
pub(super) const DEGREE: usize = RlweLiteral::DEFAULT.degree;
/// Two primes that are 1 modulo 2¹². Their product is below 2⁵³.
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
    /// Ring with q of 55.9 bits, and secrets like the error.
    pub const ERROR_LIKE: Self = Self {
        literal: RlweLiteral::DEFAULT,
        secret: Secret::ErrorLike,
    };
    /// Ring with q of 53 bits, and ternary secrets. The part that a gadget drops, and the rounding
    /// of a mask, are multiplied with the secret. So they add a 60th of the variance.
    pub const TERNARY: Self = Self {
        literal: RlweLiteral {
            primes: SHORT_PRIMES,
            ..RlweLiteral::DEFAULT
        },
        secret: Secret::Ternary,
    };

    /// Checks the security and creates the tables.
    pub(super) fn params(&self) -> Result<RlweParams, ParamsError> {
        RlweParams::with_secret(self.literal, self.secret)
    }

    /// Returns q.
    pub(super) fn modulus(&self) -> f64 {
        self.literal.primes.map(f64::from).iter().product()
    }

    /// Returns the number of bits of q. The digits of a gadget and the dropped bits together have
    /// this number of bits.
    pub(super) fn modulus_bits(&self) -> u32 {
        self.most_bits() + 1
    }

    /// Returns the largest number of bits of a rounded coefficient: 2 to the power of it is below
    /// q.
    pub(super) fn most_bits(&self) -> u32 {
        self.modulus().log2() as u32
    }

    /// Returns σ, the standard deviation of errors.
    pub(super) fn sigma(&self) -> f64 {
        self.literal.sigma
    }

    /// Returns the mean square of a secret's coefficient.
    fn secret_square(&self) -> f64 {
        match self.secret {
            Secret::ErrorLike => self.sigma() * self.sigma(),
            Secret::Ternary => 2.0 / 3.0,
            Secret::Binary => 0.5,
        }
    }

    /// Returns the standard deviation of a secret's coefficient.
    pub(super) fn secret_deviation(&self) -> f64 {
        self.secret_square().sqrt()
    }

    /// Returns the setting of keys that are rounded to these bits.
    pub(super) fn setting(&self, key_bits: u32) -> Setting {
        let setting = Setting::error_like(DEGREE, self.modulus(), self.sigma(), key_bits);
        Setting {
            secret: self.secret_square(),
            ..setting
        }
    }

    /// Returns the rounding step of a coefficient that is sent in `bits` bits.
    pub(super) fn step(&self, bits: u32) -> f64 {
        self.modulus() / 2f64.powi(bits as i32)
    }

    /// Returns the variance of switching the mask to `bits` bits.
    pub(super) fn mask_switch(&self, bits: u32) -> f64 {
        DEGREE as f64 * self.secret_square() * rounding(self.step(bits))
    }
}
