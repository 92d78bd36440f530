//! Arithmetic on slices of residues modulo q < 2³⁰, slot by slot.

use crate::ntt::Factor;

/// A modulus q with the constants of its exact reductions.
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
    /// The modulus q, at least 2 and below 2³⁰; panics outside of this range.
    pub const fn new(q: u32) -> Self {
        assert!(q >= 2 && q < 1 << 30, "a modulus from 2 to 2^30");
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
    #[inline(always)]
    pub const fn add(self, a: u32, b: u32) -> u32 {
        self.subtract_once(a + b)
    }

    /// a − b mod q for a, b below q: the wrapped difference is the larger one
    /// exactly where it is negative.
    #[inline(always)]
    pub const fn sub(self, a: u32, b: u32) -> u32 {
        let difference = a.wrapping_sub(b);
        least(difference, difference.wrapping_add(self.q))
    }

    /// a·b mod q for a, b below q.
    ///
    /// Barrett's reduction (Handbook of Applied Cryptography, Algorithm 14.42)
    /// in base 2: the estimated quotient is short by at most 2.
    #[inline(always)]
    pub const fn mul(self, a: u32, b: u32) -> u32 {
        let product = a as u64 * b as u64;
        let high = (product >> (self.bits - 1)) as u32;
        let quotient = (high as u64 * self.ratio as u64) >> (self.bits + 1);
        let rest = (product as u32).wrapping_sub((quotient as u32).wrapping_mul(self.q));
        self.subtract_once(least(rest, rest.wrapping_sub(2 * self.q)))
    }

    /// x mod q for any x, in [0, 2q).
    #[inline(always)]
    pub(crate) const fn reduce_word_lazy(self, x: u32) -> u32 {
        let quotient = (x as u64 * self.word_ratio as u64) >> 32;
        x.wrapping_sub((quotient as u32).wrapping_mul(self.q))
    }

    /// x mod q for any x.
    #[inline(always)]
    pub const fn reduce(self, x: u64) -> u32 {
        let high = self.word.mul_lazy((x >> 32) as u32, self.q);
        let sum = high + self.reduce_word_lazy(x as u32);
        self.subtract_once(least(sum, sum.wrapping_sub(2 * self.q)))
    }
}

/// The lesser of two words, in constant functions too.
#[inline(always)]
const fn least(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}

/// Panics unless all lengths are the first one.
#[track_caller]
pub(crate) fn same_length<const N: usize>(lengths: [usize; N]) {
    assert!(lengths.iter().all(|&length| length == lengths[0]), "slices of one length, not {lengths:?}");
}

kernel! {
    /// out = a + b mod q; inputs below q.
    pub fn add | add_with(out: &mut [u32], a: &[u32], b: &[u32], modulus: Modulus)
    checks { same_length([out.len(), a.len(), b.len()]) }
    in pointwise;
}

kernel! {
    /// acc = acc + a mod q; inputs below q.
    pub fn add_assign | add_assign_with(acc: &mut [u32], a: &[u32], modulus: Modulus)
    checks { same_length([acc.len(), a.len()]) }
    in pointwise;
}

kernel! {
    /// out = a − b mod q; inputs below q.
    pub fn sub | sub_with(out: &mut [u32], a: &[u32], b: &[u32], modulus: Modulus)
    checks { same_length([out.len(), a.len(), b.len()]) }
    in pointwise;
}

kernel! {
    /// acc = acc − a mod q; inputs below q.
    pub fn sub_assign | sub_assign_with(acc: &mut [u32], a: &[u32], modulus: Modulus)
    checks { same_length([acc.len(), a.len()]) }
    in pointwise;
}

kernel! {
    /// out = −a mod q; inputs below q.
    pub fn neg | neg_with(out: &mut [u32], a: &[u32], modulus: Modulus)
    checks { same_length([out.len(), a.len()]) }
    in pointwise;
}

kernel! {
    /// out = a·b mod q; inputs below q.
    pub fn mul | mul_with(out: &mut [u32], a: &[u32], b: &[u32], modulus: Modulus)
    checks { same_length([out.len(), a.len(), b.len()]) }
    in pointwise;
}

kernel! {
    /// acc = acc·a mod q; inputs below q.
    pub fn mul_assign | mul_assign_with(acc: &mut [u32], a: &[u32], modulus: Modulus)
    checks { same_length([acc.len(), a.len()]) }
    in pointwise;
}

kernel! {
    /// out = constant·a mod q; the constant below q, the inputs any words.
    pub fn scale | scale_with(out: &mut [u32], a: &[u32], constant: u32, modulus: Modulus)
    checks {
        same_length([out.len(), a.len()]);
        assert!(constant < modulus.value(), "a constant below the modulus");
    }
    in pointwise;
}

kernel! {
    /// acc = acc + a·b without reduction.
    ///
    /// Starting from zero an accumulator holds 2^(64 − 2b) products of words below
    /// 2^b: 16 for b = 30, 256 for b = 28. More wrap around.
    pub fn mul_accumulate | mul_accumulate_with(acc: &mut [u64], a: &[u32], b: &[u32])
    checks { same_length([acc.len(), a.len(), b.len()]) }
    in pointwise;
}

kernel! {
    /// out = acc mod q, exact for any words.
    pub fn reduce | reduce_with(out: &mut [u32], acc: &[u64], modulus: Modulus)
    checks { same_length([out.len(), acc.len()]) }
    in pointwise;
}

kernel! {
    /// out = Σ_j a_j·b_j mod q over the rows of `a` and `b`, as many words each as `out` has; the words of `a`
    /// below 4q, those of `b` below q. Larger words give other residues.
    ///
    /// At most 2^(62 − 2·log₂ q) rows: 64 for q below 2²⁸.
    pub fn dot | dot_with(out: &mut [u32], a: &[u32], b: &[u32], modulus: Modulus)
    checks {
        same_length([a.len(), b.len()]);
        assert!(!out.is_empty() && a.len().is_multiple_of(out.len()), "whole rows of {} words", out.len());
        let q = u128::from(modulus.value());
        assert!((a.len() / out.len()) as u128 * 4 * q * q <= 1 << 64, "a sum of products of 64 bits");
    }
    in pointwise;
}

kernel! {
    /// out = Σ_j w_j·row_j mod q over the weights and the rows of `rows`, as many words each as `out` has; all below q.
    ///
    /// At most 2^(64 − 2·log₂ q) rows: 256 for q below 2²⁸.
    pub fn combine | combine_with(out: &mut [u32], rows: &[u32], weights: &[u32], modulus: Modulus)
    checks {
        same_length([rows.len(), weights.len() * out.len()]);
        let q = u128::from(modulus.value());
        assert!(weights.len() as u128 * q * q <= 1 << 64, "a sum of products of 64 bits");
    }
    in pointwise;
}
