//! Slot-by-slot arithmetic modulo a wide prime.

use crate::portable::monomial::{self, Words};
use crate::wide::modulus::Modulus;

#[inline(always)]
pub(crate) fn add_assign(acc: &mut [u64], a: &[u64], modulus: Modulus) {
    for (acc, &a) in acc.iter_mut().zip(a) {
        *acc = modulus.add(*acc, a);
    }
}

#[inline(always)]
pub(crate) fn sub_assign(acc: &mut [u64], a: &[u64], modulus: Modulus) {
    for (acc, &a) in acc.iter_mut().zip(a) {
        *acc = modulus.sub(*acc, a);
    }
}

#[inline(always)]
pub(crate) fn mul(out: &mut [u64], a: &[u64], b: &[u64], modulus: Modulus) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = modulus.mul(a, b);
    }
}

#[inline(always)]
pub(crate) fn scale(out: &mut [u64], a: &[u64], constant: u64, modulus: Modulus) {
    for (out, &a) in out.iter_mut().zip(a) {
        *out = modulus.mul(a, constant);
    }
}

#[inline(always)]
pub(crate) fn reduce(out: &mut [u64], words: &[u64], modulus: Modulus) {
    for (out, &word) in out.iter_mut().zip(words) {
        *out = modulus.reduce(word);
    }
}

/// Words that are summed at a time: the sums stay in the first-level cache.
const BLOCK: usize = 64;

#[inline(always)]
pub(crate) fn dot(out: &mut [u64], a: &[u64], b: &[u64], modulus: Modulus) {
    let d = out.len();
    for (block, out) in out.chunks_mut(BLOCK).enumerate() {
        let mut sums = [0u128; BLOCK];
        for (a, b) in a.chunks_exact(d).zip(b.chunks_exact(d)) {
            let a = &a[block * BLOCK..][..out.len()];
            let b = &b[block * BLOCK..][..out.len()];
            for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
                // At most 2¹¹ products below 4q² < 2¹⁰²: the sum is below the 2¹¹⁶ of `reduce_sum`.
                *sum = sum.wrapping_add(u128::from(a) * u128::from(b));
            }
        }
        for (out, &sum) in out.iter_mut().zip(&sums) {
            *out = modulus.reduce_sum(sum);
        }
    }
}

#[inline(always)]
pub(crate) fn dot_pair(outs: [&mut [u64]; 2], a: &[u64], b: [&[u64]; 2], modulus: Modulus) {
    let [out0, out1] = outs;
    dot(out0, a, b[0], modulus);
    dot(out1, a, b[1], modulus);
}

/// The last slots of dot products with several sets of rows, from slot `start` on.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn dot_from<const S: usize>(
    start: usize,
    outs: [&mut [u64]; S],
    a: &[u64],
    b: [&[u64]; S],
    modulus: Modulus,
) {
    for (out, b) in outs.into_iter().zip(b) {
        let d = out.len();
        for (slot, out) in out.iter_mut().enumerate().skip(start) {
            let rows = a.iter().zip(b).skip(slot).step_by(d);
            let sum = rows
                .map(|(&a, &b)| u128::from(a) * u128::from(b))
                .fold(0, u128::wrapping_add);
            *out = modulus.reduce_sum(sum);
        }
    }
}

impl Words for Modulus {
    type Word = u64;
    #[inline(always)]
    fn add(self, a: u64, b: u64) -> u64 {
        Self::add(self, a, b)
    }
    #[inline(always)]
    fn sub(self, a: u64, b: u64) -> u64 {
        Self::sub(self, a, b)
    }
    #[inline(always)]
    fn neg(self, a: u64) -> u64 {
        Self::sub(self, 0, a)
    }
}

#[inline(always)]
pub(crate) fn rotate(out: &mut [u64], a: &[u64], shift: usize, modulus: Modulus) {
    monomial::rotate(out, a, shift, modulus);
}

#[inline(always)]
pub(crate) fn automorphism(out: &mut [u64], a: &[u64], e: usize, modulus: Modulus) {
    let d = a.len();
    for (k, &coefficient) in a.iter().enumerate() {
        let exponent = k.wrapping_mul(e) & (2 * d - 1);
        // X^d = −1: exponents from d on change the sign.
        let negative = modulus.sub(0, coefficient);
        out[exponent & (d - 1)] = if exponent < d { coefficient } else { negative };
    }
}

#[inline(always)]
pub(crate) fn from_signed(out: &mut [u64], words: &[i32], modulus: Modulus) {
    let q = modulus.value();

    if q > 1 << 31 {
        for (out, &word) in out.iter_mut().zip(words) {
            // A word is at least −2³¹ > −q, so adding q once is enough.
            let word = i64::from(word);
            *out = (word as u64).wrapping_add(q & (word >> 63) as u64);
        }
        return;
    }

    // Adds 2³¹ to each word to make it unsigned, and subtracts 2³¹ mod q from the residue. The
    // quotient is short by at most 1.
    let ratio = (1 << 32) / q;
    let middle = modulus.reduce(1 << 31);

    for (out, &word) in out.iter_mut().zip(words) {
        let raised = u64::from(word as u32 ^ 1 << 31);
        let lazy = raised.wrapping_sub((raised.wrapping_mul(ratio) >> 32).wrapping_mul(q));
        *out = modulus.sub(modulus.subtract_once(lazy), middle);
    }
}

#[inline(always)]
pub(crate) fn from_bytes_lazy(out: &mut [u64], bytes: &[u8], modulus: Modulus) {
    let q = modulus.value();
    for (out, &byte) in out.iter_mut().zip(bytes) {
        *out = q.wrapping_add_signed(i64::from(byte as i8));
    }
}
