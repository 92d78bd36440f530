//! Moduli below 2⁵⁰ and the constants of their reductions.

/// Bits of a digit in products: as many as the multipliers of IFMA and a double have.
pub(crate) const DIGIT: u32 = 52;
/// The lowest [`DIGIT`] bits.
pub(crate) const DIGIT_MASK: u64 = (1 << DIGIT) - 1;

/// A constant factor w below q for Montgomery products with R = 2⁵².
#[derive(Debug, Clone, Copy)]
pub(crate) struct Factor {
    /// w·2⁵² mod q.
    pub(crate) value: u64,
    /// `value`/q mod 2⁵².
    pub(crate) quotient: u64,
}

impl Factor {
    /// The factor w modulo q, for w below q and an odd q.
    pub(crate) const fn new(w: u64, q: u64) -> Self {
        // Newton's iteration doubles the correct bits; q·q = 1 mod 8 gives the first three.
        let mut inverse = q;
        let mut bits = 3;
        while bits < DIGIT {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(q.wrapping_mul(inverse)));
            bits *= 2;
        }
        let value = (((w as u128) << DIGIT) % q as u128) as u64;
        Self {
            value,
            quotient: value.wrapping_mul(inverse) & DIGIT_MASK,
        }
    }

    /// v·w modulo q, in (−q, q) as a wrapping word, for v below 2⁵².
    ///
    /// With m = v·quotient mod 2⁵², the products v·value and m·q have the same lowest 52 bits. So
    /// the difference of their high parts is (v·value − m·q)/2⁵², exactly, and both are below q.
    /// Factors shifted by 12 bits move the high parts to the high word of a product.
    #[inline(always)]
    pub(crate) const fn mul_signed(self, v: u64, q: u64) -> u64 {
        let shift = u64::BITS - DIGIT;
        let m = v.wrapping_mul(self.quotient << shift);
        high(v, self.value << shift).wrapping_sub(high(m, q))
    }
}

/// A constant factor w modulo q as doubles, for products by fused multiplications and additions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Real {
    /// The integer in (−q/2, q/2) that is w modulo q.
    pub(crate) value: f64,
    /// `value`/q, off by at most 2⁻⁵⁵.
    pub(crate) ratio: f64,
}

impl Real {
    /// The factor w modulo q, for w below q and an odd q.
    pub(crate) const fn new(w: u64, q: u64) -> Self {
        let centred = if w > q / 2 {
            w as i64 - q as i64
        } else {
            w as i64
        };
        Self {
            value: centred as f64,
            ratio: centred as f64 / q as f64,
        }
    }
}

/// A modulus q and the constants of its exact reductions.
#[derive(Debug, Clone, Copy)]
pub struct Modulus {
    q: u64,
    /// ⌊2⁶⁴ / q⌋.
    pub(crate) ratio: u64,
    /// 2⁵² mod q.
    pub(crate) fold: u64,
    /// ⌊`fold`·2⁶⁴ / q⌋, the Shoup quotient.
    pub(crate) fold_quotient: u64,
}

impl Modulus {
    /// The modulus q: odd, from 3 to 2⁵⁰ − 1.
    ///
    /// # Panics
    /// If q is even or outside this range.
    pub const fn new(q: u64) -> Self {
        assert!(
            q >= 3 && q < 1 << 50 && q % 2 == 1,
            "the modulus must be odd, from 3 to 2^50 - 1"
        );
        let fold = (1 << DIGIT) % q;
        Self {
            q,
            ratio: ((1u128 << 64) / q as u128) as u64,
            fold,
            fold_quotient: (((fold as u128) << 64) / q as u128) as u64,
        }
    }

    /// q.
    #[inline(always)]
    pub const fn value(self) -> u64 {
        self.q
    }

    /// x mod q for x below 2q.
    #[inline(always)]
    pub(crate) const fn subtract_once(self, x: u64) -> u64 {
        least(x, x.wrapping_sub(self.q))
    }

    /// x mod q for x below 4q.
    #[inline(always)]
    pub(crate) const fn subtract_thrice(self, x: u64) -> u64 {
        self.subtract_once(least(x, x.wrapping_sub(2 * self.q)))
    }

    /// a + b mod q for a, b below q.
    #[inline(always)]
    pub const fn add(self, a: u64, b: u64) -> u64 {
        self.subtract_once(a.wrapping_add(b))
    }

    /// a − b mod q for a, b below q.
    ///
    /// If a < b, the difference wraps to a large word, and adding q wraps it back to the smaller
    /// one. Otherwise the difference itself is the smaller one.
    #[inline(always)]
    pub const fn sub(self, a: u64, b: u64) -> u64 {
        let difference = a.wrapping_sub(b);
        least(difference, difference.wrapping_add(self.q))
    }

    /// a·b mod q for a, b below 2⁵².
    #[inline(always)]
    pub const fn mul(self, a: u64, b: u64) -> u64 {
        self.reduce_sum(a as u128 * b as u128)
    }

    /// x mod q for any x.
    #[inline(always)]
    pub const fn reduce(self, x: u64) -> u64 {
        self.subtract_once(self.reduce_lazy(x))
    }

    /// x mod q for any x, in [0, 2q).
    #[inline(always)]
    const fn reduce_lazy(self, x: u64) -> u64 {
        x.wrapping_sub(high(x, self.ratio).wrapping_mul(self.q))
    }

    /// x mod q for x below 2¹¹⁶.
    ///
    /// Both terms of the sum are below 2q: the Shoup quotient of the digits from 2⁵² on is short by
    /// at most 1.
    #[inline(always)]
    pub(crate) const fn reduce_sum(self, x: u128) -> u64 {
        let upper = (x >> DIGIT) as u64;
        let quotient = high(upper, self.fold_quotient);
        // The difference is below 2q, so the low words of both products are enough.
        let folded = upper
            .wrapping_mul(self.fold)
            .wrapping_sub(quotient.wrapping_mul(self.q));
        self.subtract_thrice(folded.wrapping_add(self.reduce_lazy(x as u64 & DIGIT_MASK)))
    }
}

/// The high word of a·b.
#[inline(always)]
const fn high(a: u64, b: u64) -> u64 {
    ((a as u128 * b as u128) >> 64) as u64
}

/// The smaller of two words; `Ord::min` is not a `const fn`.
#[inline(always)]
const fn least(a: u64, b: u64) -> u64 {
    if a < b { a } else { b }
}
