//! Moduli below 2³⁰ and the constants of their reductions.

/// A constant factor w below q and its Shoup quotient ⌊w·2³² / q⌋.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Factor {
    pub(crate) value: u32,
    pub(crate) quotient: u32,
}

impl Factor {
    /// The factor w modulo q, for w below q.
    pub(crate) const fn new(w: u32, q: u32) -> Self {
        let quotient = (((w as u64) << 32) / q as u64) as u32;
        Self { value: w, quotient }
    }

    /// v·w modulo q, in [0, 2q), for any v.
    ///
    /// The estimated quotient is short by at most 1. So the product less the quotient times q is
    /// below 2q < 2³², and its low word is exact.
    #[inline(always)]
    pub(crate) const fn mul_lazy(self, v: u32, q: u32) -> u32 {
        let quotient = ((v as u64 * self.quotient as u64) >> 32) as u32;
        let product = v.wrapping_mul(self.value);
        product.wrapping_sub(quotient.wrapping_mul(q))
    }
}

/// A modulus q and the constants of its exact reductions.
#[derive(Debug, Clone, Copy)]
pub struct Modulus {
    q: u32,
    /// Bits of q, for Barrett reduction of a product.
    bits: u32,
    /// ⌊2^(2·bits) / q⌋.
    ratio: u32,
    /// 2³² mod q.
    word: Factor,
    /// ⌊2³² / q⌋.
    word_ratio: u32,
}

impl Modulus {
    /// The modulus q, from 2 to 2³⁰ − 1.
    ///
    /// # Panics
    /// If q is outside this range.
    pub const fn new(q: u32) -> Self {
        assert!(
            q >= 2 && q < 1 << 30,
            "the modulus must be from 2 to 2^30 - 1"
        );
        // q is at least 2^(bits − 1), so `ratio` is at most 2^(bits + 1) ≤ 2^31 and fits its word.
        let bits = u32::BITS - q.leading_zeros();
        Self {
            q,
            bits,
            ratio: ((1u64 << (2 * bits)) / q as u64) as u32,
            word: Factor::new(((1u64 << 32) % q as u64) as u32, q),
            word_ratio: ((1u64 << 32) / q as u64) as u32,
        }
    }

    /// q.
    #[inline(always)]
    pub const fn value(self) -> u32 {
        self.q
    }

    /// x mod q for x below 2q.
    #[inline(always)]
    pub(crate) const fn subtract_once(self, x: u32) -> u32 {
        least(x, x.wrapping_sub(self.q))
    }

    /// a + b mod q for a, b below q.
    ///
    /// Like the other sums here, this one fits its word. Wrapping operations say so to the
    /// compiler, which otherwise checks each of them in test builds and then cannot vectorise the
    /// loops.
    #[inline(always)]
    pub const fn add(self, a: u32, b: u32) -> u32 {
        self.subtract_once(a.wrapping_add(b))
    }

    /// a − b mod q for a, b below q.
    ///
    /// If a < b, the difference wraps to a large word, and adding q wraps it back to the smaller
    /// one. Otherwise the difference itself is the smaller one.
    #[inline(always)]
    pub const fn sub(self, a: u32, b: u32) -> u32 {
        let difference = a.wrapping_sub(b);
        least(difference, difference.wrapping_add(self.q))
    }

    /// a·b mod q for a, b below q.
    ///
    /// Barrett reduction (Handbook of Applied Cryptography, Algorithm 14.42) in base 2. The
    /// estimated quotient is short by at most 2, so the rest is below 3q.
    #[inline(always)]
    pub const fn mul(self, a: u32, b: u32) -> u32 {
        let product = a as u64 * b as u64;
        // The product is below 2^(2·bits), so its part is below 2^(bits + 1) ≤ 2^31.
        let high = (product >> (self.bits - 1)) as u32;
        let quotient = (high as u64 * self.ratio as u64) >> (self.bits + 1);
        let rest = (product as u32).wrapping_sub((quotient as u32).wrapping_mul(self.q));
        self.subtract_once(least(rest, rest.wrapping_sub(self.q << 1)))
    }

    /// x mod q for any x, in [0, 2q).
    #[inline(always)]
    pub(crate) const fn reduce_word_lazy(self, x: u32) -> u32 {
        let quotient = (x as u64 * self.word_ratio as u64) >> 32;
        x.wrapping_sub((quotient as u32).wrapping_mul(self.q))
    }

    /// x mod q for any x.
    ///
    /// Both terms of the sum are below 2q < 2³¹, so that it fits a word.
    #[inline(always)]
    pub const fn reduce(self, x: u64) -> u32 {
        let high = self.word.mul_lazy((x >> 32) as u32, self.q);
        let sum = high.wrapping_add(self.reduce_word_lazy(x as u32));
        self.subtract_once(least(sum, sum.wrapping_sub(self.q << 1)))
    }
}

/// The smaller of two words; `Ord::min` is not a `const fn`.
#[inline(always)]
const fn least(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}
