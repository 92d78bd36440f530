//! Constants of a gadget decomposition modulo two primes.

use super::digits::Digits;
use crate::modulus::Factor;

/// Error from [`Gadget2::new`] and [`crate::wide::Gadget::new`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GadgetError {
    /// The moduli are not two coprime odd numbers from 3 to 2³⁰.
    #[error("moduli {q1} and {q2}: expected two coprime odd numbers from 3 to 2^30")]
    Moduli {
        /// The first modulus.
        q1: u32,
        /// The second modulus.
        q2: u32,
    },
    /// The modulus of a wide gadget is not an odd number from 3 to 2⁵⁰.
    #[error("modulus {q}: expected an odd number from 3 to 2^50")]
    WideModulus {
        /// The modulus.
        q: u64,
    },
    /// The digits do not fit their words.
    #[error(
        "{levels} digits of {log_base} bits above {drop} dropped bits: expected 1 to 30 bits per \
         digit, at least one digit, and a top digit that starts at bit 60 or below and fits 31 bits"
    )]
    Digits {
        /// log₂ of the base.
        log_base: u32,
        /// The number of bits rounded away.
        drop: u32,
        /// The number of digits.
        levels: usize,
    },
}

/// Decomposition of x modulo q₁·q₂ into `levels` balanced digits.
///
/// x is centred into (−q₁q₂/2, q₁q₂/2], divided by 2^drop and rounded to nearest (ties up), then
/// written as Σ digit_i · B^i with B = 2^log_base. All digits but the top one are in [−B/2, B/2).
/// The top digit holds the rest and is at most [`Gadget2::top_bound`] in absolute value.
#[derive(Debug, Clone)]
pub struct Gadget2 {
    pub(crate) q1: u32,
    pub(crate) q2: u32,
    pub(crate) digits: Digits,
    /// 1/q₁ mod q₂.
    inverse: Factor,
    /// The least multiple of q₂ that is at least q₁; keeps r₂ − r₁ from becoming negative.
    lift: u32,
}

impl Gadget2 {
    /// A decomposition of values modulo q1·q2, without their lowest `drop` bits, into `levels`
    /// digits to base 2^log_base.
    ///
    /// # Errors
    /// [`GadgetError`] if the moduli are not coprime, odd and below 2³⁰, or the digits do not fit.
    pub fn new(
        q1: u32,
        q2: u32,
        log_base: u32,
        drop: u32,
        levels: usize,
    ) -> Result<Self, GadgetError> {
        // Before the inverse, whose computation divides by the second modulus.
        if !(is_supported(q1) && is_supported(q2)) {
            return Err(GadgetError::Moduli { q1, q2 });
        }
        let inverse = inverse_modulo(q1, q2).ok_or(GadgetError::Moduli { q1, q2 })?;

        // The top digit takes all that the others leave, and has to fit a signed word.
        let half = u64::from(q1) * u64::from(q2) / 2;
        let digits =
            Digits::new(log_base, drop, levels).filter(|digits| digits.top_bound(half) < 1 << 31);
        let digits = digits.ok_or(GadgetError::Digits {
            log_base,
            drop,
            levels,
        })?;

        Ok(Self {
            q1,
            q2,
            digits,
            inverse: Factor::new(inverse, q2),
            lift: q1.div_ceil(q2) * q2,
        })
    }

    /// The largest absolute value of a digit.
    pub(crate) fn largest_digit(&self) -> u64 {
        self.digits.largest(self.modulus() / 2)
    }

    /// q₁·q₂.
    #[inline(always)]
    fn modulus(&self) -> u64 {
        u64::from(self.q1) * u64::from(self.q2)
    }

    /// log₂ of the base.
    pub const fn log_base(&self) -> u32 {
        self.digits.log_base
    }

    /// The number of low bits rounded away.
    pub const fn drop(&self) -> u32 {
        self.digits.drop
    }

    /// The number of digits.
    pub const fn levels(&self) -> usize {
        self.digits.levels
    }

    /// The largest absolute value of the top digit, reached at one end of the centred range.
    pub fn top_bound(&self) -> u64 {
        self.digits.top_bound(self.modulus() / 2)
    }

    /// The centred x plus the offset that turns plain digits into balanced ones.
    ///
    /// Garner's reconstruction: x = r₁ + q₁·((r₂ − r₁)/q₁ mod q₂). No branch depends on x.
    #[inline(always)]
    pub(crate) fn shifted(&self, r1: u32, r2: u32) -> u64 {
        let q1 = u64::from(self.q1);
        let q2 = self.q2;
        // `lift` is at least q₁ > r₁ and below q₁ + q₂ < 2³¹, so the word is positive and below
        // 2³².
        let lazy = self.inverse.mul_lazy(r2 + self.lift - r1, q2);
        let garner = lazy.min(lazy.wrapping_sub(q2));
        self.digits
            .shifted(u64::from(r1) + q1 * u64::from(garner), self.modulus())
    }
}

/// Returns whether a modulus is odd and from 3 to 2³⁰.
fn is_supported(q: u32) -> bool {
    q >= 3 && q % 2 == 1 && q < 1 << 30
}

/// 1/a mod m by the extended Euclidean algorithm, if it exists.
fn inverse_modulo(a: u32, m: u32) -> Option<u32> {
    let mut r = (i64::from(m), i64::from(a));
    let mut s = (0i64, 1i64);
    while r.1 != 0 {
        let quotient = r.0 / r.1;
        r = (r.1, r.0 - quotient * r.1);
        s = (s.1, s.0 - quotient * s.1);
    }
    (r.0 == 1).then(|| s.0.rem_euclid(i64::from(m)) as u32)
}
