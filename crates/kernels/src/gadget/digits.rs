//! Balanced digits of centred integers.

/// Rounding of centred integers and their balanced digits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Digits {
    /// log₂ of the base.
    pub(crate) log_base: u32,
    /// The number of low bits rounded away.
    pub(crate) drop: u32,
    /// The number of digits.
    pub(crate) levels: usize,
    /// `BIAS`, half a unit for rounding, and half a base at every digit below the top.
    offset: u64,
}

/// Makes every shifted word positive. As a multiple of every 2^shift, it adds a constant to the top
/// digit and nothing to the others.
const BIAS: u64 = 1 << 62;

impl Digits {
    /// The digits, if base and levels are in range and every shift is at most 60 bits.
    pub(crate) fn new(log_base: u32, drop: u32, levels: usize) -> Option<Self> {
        u32::try_from(levels).ok()?;
        let top = top_shift(log_base, drop, levels);
        let fits = (1..=30).contains(&log_base) && levels >= 1 && top <= 60;
        fits.then(|| Self {
            log_base,
            drop,
            levels,
            offset: offset(log_base, drop, levels),
        })
    }

    /// The largest absolute value of the top digit of integers from −half to half.
    pub(crate) fn top_bound(&self, half: u64) -> u64 {
        let ends = [half, half.wrapping_neg()];
        let top = ends.map(|end| self.top_digit(end.wrapping_add(self.offset)));
        top[0].unsigned_abs().max(top[1].unsigned_abs())
    }

    /// The largest absolute value of any digit of integers from −half to half.
    pub(crate) fn largest(&self, half: u64) -> u64 {
        self.top_bound(half).max(if self.levels > 1 {
            (1 << self.log_base) / 2
        } else {
            0
        })
    }

    /// x below q, centred into (−q/2, q/2], plus the offset that turns plain digits into balanced
    /// ones; q is at most 2⁶⁰.
    #[inline(always)]
    pub(crate) fn shifted(&self, x: u64, q: u64) -> u64 {
        // All ones if x > q/2: both are below 2⁶⁰, so the difference keeps its sign.
        let above = ((q / 2) as i64).wrapping_sub(x as i64) >> 63;
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
        // The bias of 2⁶² exceeds every centred integer, at most 2⁵⁹ in absolute value. So the word
        // is positive, and the shift rounds negative integers down, too.
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
fn offset(log_base: u32, drop: u32, levels: usize) -> u64 {
    let rounding = (1u64 << drop) / 2;
    let halves = (0..levels - 1).map(|level| {
        let bit = drop + log_base * (level as u32 + 1) - 1;
        1u64 << bit
    });
    BIAS + rounding + halves.sum::<u64>()
}
