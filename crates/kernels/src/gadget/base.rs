//! Constants of a gadget decomposition modulo two primes.

use crate::modulus::Factor;

/// Error from [`Gadget2::new`].
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
    log_base: u32,
    drop: u32,
    levels: usize,
    /// 1/q₁ mod q₂.
    inverse: Factor,
    /// The least multiple of q₂ that is at least q₁; keeps r₂ − r₁ from becoming negative.
    lift: u32,
    /// `BIAS`, half a unit for rounding, and half a base at every digit below the top.
    offset: u64,
}

/// Makes every shifted word positive. As a multiple of every 2^shift, it adds a constant to the top
/// digit and nothing to the others.
const BIAS: u64 = 1 << 62;

impl Gadget2 {
    /// A decomposition of values modulo q1·q2, without their lowest `drop` bits, into `levels`
    /// digits to base 2^log_base.
    ///
    /// # Errors
    /// [`GadgetError`] if the moduli are not coprime, odd and below 2³⁰, or the digits do not fit.
    pub fn new(q1: u32, q2: u32, log_base: u32, drop: u32, levels: usize) -> Result<Self, GadgetError> {
        let fits = |q: u32| q >= 3 && q % 2 == 1 && q < 1 << 30;
        let inverse = inverse_modulo(q1, q2).filter(|_| fits(q1) && fits(q2));
        let inverse = inverse.ok_or(GadgetError::Moduli { q1, q2 })?;
        let gadget = Self {
            q1,
            q2,
            log_base,
            drop,
            levels,
            inverse: Factor::new(inverse, q2),
            lift: q1.div_ceil(q2) * q2,
            offset: offset(log_base, drop, levels),
        };
        let digits = GadgetError::Digits { log_base, drop, levels };
        let fits = gadget.shape_fits() && gadget.top_bound() < 1 << 31;
        fits.then_some(gadget).ok_or(digits)
    }

    /// The largest absolute value of a digit.
    pub(crate) fn largest_digit(&self) -> u64 {
        self.top_bound().max(if self.levels > 1 { (1 << self.log_base) / 2 } else { 0 })
    }

    /// True if base and levels are in range and every shift is at most 60 bits.
    fn shape_fits(&self) -> bool {
        let top = top_shift(self.log_base, self.drop, self.levels);
        (1..=30).contains(&self.log_base) && self.levels >= 1 && top <= 60
    }

    /// log₂ of the base.
    pub const fn log_base(&self) -> u32 {
        self.log_base
    }

    /// The number of low bits rounded away.
    pub const fn drop(&self) -> u32 {
        self.drop
    }

    /// The number of digits.
    pub const fn levels(&self) -> usize {
        self.levels
    }

    /// The largest absolute value of the top digit, reached at one end of the centred range.
    pub fn top_bound(&self) -> u64 {
        let half = u64::from(self.q1) * u64::from(self.q2) / 2;
        let ends = [half, half.wrapping_neg()];
        let top = ends.map(|end| self.top_digit(end.wrapping_add(self.offset)));
        top[0].unsigned_abs().max(top[1].unsigned_abs())
    }

    /// The centred x plus the offset that turns plain digits into balanced ones.
    ///
    /// Garner's reconstruction: x = r₁ + q₁·((r₂ − r₁)/q₁ mod q₂). No branch depends on x.
    #[inline(always)]
    pub(crate) fn shifted(&self, r1: u32, r2: u32) -> u64 {
        let (q1, q2) = (u64::from(self.q1), self.q2);
        let lazy = self.inverse.mul_lazy(r2 + self.lift - r1, q2);
        let garner = lazy.min(lazy.wrapping_sub(q2));
        let x = u64::from(r1) + q1 * u64::from(garner);
        let q = q1 * u64::from(q2);
        // All ones if x > q/2: both are below 2⁶⁰, so the difference keeps its sign.
        let above = ((q / 2) as i64 - x as i64) >> 63;
        x.wrapping_sub(q & above as u64).wrapping_add(self.offset)
    }

    /// Digit `level` of a shifted word, for a level below the top.
    ///
    /// The offset has added B/2 to it; its subtraction gives the range [−B/2, B/2).
    #[inline(always)]
    pub(crate) fn digit(&self, shifted: u64, level: usize) -> i32 {
        let bits = shifted >> (self.drop + self.log_base * level as u32);
        let base = 1u32 << self.log_base;
        (bits as u32 & (base - 1)) as i32 - (base / 2) as i32
    }

    /// The top digit of a shifted word.
    #[inline(always)]
    pub(crate) fn top_digit(&self, shifted: u64) -> i64 {
        let shift = top_shift(self.log_base, self.drop, self.levels);
        (shifted >> shift) as i64 - (BIAS >> shift) as i64
    }
}

/// The bit at which the top digit starts.
#[inline(always)]
const fn top_shift(log_base: u32, drop: u32, levels: usize) -> u32 {
    let below = (levels as u32).saturating_sub(1);
    drop.saturating_add(log_base.saturating_mul(below))
}

/// The number that, added before shifting, rounds to nearest and balances the digits below the top.
///
/// Returns 0 for shapes that [`Gadget2::new`] refuses, where the shifts would overflow.
fn offset(log_base: u32, drop: u32, levels: usize) -> u64 {
    if log_base == 0 || top_shift(log_base, drop, levels) > 60 {
        return 0;
    }
    let rounding = (1u64 << drop) / 2;
    let halves = (0..levels.saturating_sub(1)).map(|level| {
        let bit = drop + log_base * (level as u32 + 1) - 1;
        1u64 << bit
    });
    BIAS + rounding + halves.sum::<u64>()
}

/// 1/a mod m by the extended Euclidean algorithm, if it exists.
fn inverse_modulo(a: u32, m: u32) -> Option<u32> {
    let (mut r, mut s) = ((i64::from(m), i64::from(a)), (0i64, 1i64));
    while r.1 != 0 {
        let quotient = r.0 / r.1;
        r = (r.1, r.0 - quotient * r.1);
        s = (s.1, s.0 - quotient * s.1);
    }
    (r.0 == 1).then(|| s.0.rem_euclid(i64::from(m)) as u32)
}
