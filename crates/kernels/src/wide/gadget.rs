//! Constants of a gadget decomposition modulo a wide prime.

use crate::gadget::base::GadgetError;
use crate::gadget::digits::Digits;

/// Decomposition of x modulo q into `levels` balanced digits.
///
/// The convention is that of [`Gadget2`](crate::gadget::Gadget2): x is centred into (−q/2, q/2],
/// divided by 2^drop and rounded to nearest (ties up), then written as Σ digit_i · B^i with
/// B = 2^log_base. All digits but the top one are in [−B/2, B/2). The top digit holds the rest and
/// is at most [`Gadget::top_bound`] in absolute value.
#[derive(Debug, Clone)]
pub struct Gadget {
    pub(crate) q: u64,
    pub(crate) digits: Digits,
}

impl Gadget {
    /// A decomposition of values modulo q, without their lowest `drop` bits, into `levels` digits
    /// to base 2^log_base.
    ///
    /// # Errors
    /// [`GadgetError`] if q is even or not below 2⁵⁰, or the digits do not fit.
    pub fn new(q: u64, log_base: u32, drop: u32, levels: usize) -> Result<Self, GadgetError> {
        if !(3..1 << 50).contains(&q) || q.is_multiple_of(2) {
            return Err(GadgetError::WideModulus { q });
        }

        // The top digit takes all that the others leave, and has to fit a signed word.
        let digits =
            Digits::new(log_base, drop, levels).filter(|digits| digits.top_bound(q / 2) < 1 << 31);
        digits
            .map(|digits| Self { q, digits })
            .ok_or(GadgetError::Digits {
                log_base,
                drop,
                levels,
            })
    }

    /// The number of digits.
    pub const fn levels(&self) -> usize {
        self.digits.levels
    }

    /// The largest absolute value of the top digit, reached at one end of the centred range.
    pub fn top_bound(&self) -> u64 {
        self.digits.top_bound(self.q / 2)
    }

    /// The largest absolute value of a digit.
    pub(crate) fn largest_digit(&self) -> u64 {
        self.digits.largest(self.q / 2)
    }

    /// The centred x plus the offset that turns plain digits into balanced ones, for x below q.
    #[inline(always)]
    pub(crate) fn shifted(&self, x: u64) -> u64 {
        self.digits.shifted(x, self.q)
    }
}
