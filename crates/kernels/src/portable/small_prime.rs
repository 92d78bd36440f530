//! Residues modulo small primes: see [`crate::small_prime`].

use crate::modulus::{Factor, Modulus};
use crate::small_prime::constants::{QUOTIENT_BITS, Share, Shortest};

#[inline(always)]
pub(crate) fn reduce(out: &mut [u16], words: &[u32], reduction: Shortest) {
    out.iter_mut()
        .zip(words)
        .for_each(|(out, &word)| *out = reduction.apply(word));
}

#[inline(always)]
pub(crate) fn reduce_small(out: &mut [u16], words: &[u16], reduction: Shortest) {
    out.iter_mut()
        .zip(words)
        .for_each(|(out, &word)| *out = reduction.apply(word.into()));
}

#[inline(always)]
pub(crate) fn append(indices: &mut [u32], row: &[u16], side: u32) {
    for (index, &x) in indices.iter_mut().zip(row) {
        *index = index.wrapping_mul(side).wrapping_add(x.into());
    }
}

#[inline(always)]
pub(crate) fn add_share(words: &mut [u64], quotients: &mut [u64], residues: &[u16], share: Share) {
    for ((word, quotient), &residue) in words.iter_mut().zip(quotients).zip(residues) {
        let lazy = share.inverse.mul_lazy(residue.into(), share.p);
        let factor = u64::from(lazy.min(lazy.wrapping_sub(share.p)));
        *word = word.wrapping_add(factor * u64::from(share.cofactor));
        // A factor below 2^16 and a unit below 2^49: 32 bits of the unit at a time.
        let low = share.unit & u64::from(u32::MAX);
        let high = share.unit >> 32;
        *quotient = quotient
            .wrapping_add(factor * low)
            .wrapping_add((factor * high) << 32);
    }
}

#[inline(always)]
pub(crate) fn finish(
    out: &mut [u32],
    words: &[u64],
    quotients: &[u64],
    product: u32,
    target: Modulus,
) {
    for ((out, &word), &quotient) in out.iter_mut().zip(words).zip(quotients) {
        // There are 6,542 primes below 2¹⁶, each with a quotient below 2⁵⁰: their sum is below 2⁶³.
        let whole = (quotient + (1 << (QUOTIENT_BITS - 1))) >> QUOTIENT_BITS;
        let taken = target.mul(target.reduce(whole), product);
        *out = target.sub(target.reduce(word), taken);
    }
}

/// Points of a block: the sums stay in registers.
const BLOCK: usize = 64;

#[inline(always)]
pub(crate) fn combine(out: &mut [u16], coefficients: &[u16], powers: &[u16], p: u32) {
    let count = out.len();
    let one = Factor::new(1, p);
    let (blocks, rest) = out.as_chunks_mut::<BLOCK>();
    let done = blocks.len() * BLOCK;
    let rows = || coefficients.iter().zip(powers.chunks_exact(count));

    for (block, out) in blocks.iter_mut().enumerate() {
        let mut sums = [0u32; BLOCK];
        for (&coefficient, row) in rows() {
            let powers = &row.as_chunks::<BLOCK>().0[block];
            for (sum, &power) in sums.iter_mut().zip(powers) {
                // At most 256 products of residues below 2¹²: the sum is below 2³².
                *sum += u32::from(coefficient) * u32::from(power);
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = reduce_sum(one, sum, p);
        }
    }

    for (i, out) in rest.iter_mut().enumerate() {
        let terms =
            rows().map(|(&coefficient, row)| u32::from(coefficient) * u32::from(row[done + i]));
        *out = reduce_sum(one, terms.sum(), p);
    }
}

#[inline(always)]
fn reduce_sum(one: Factor, sum: u32, p: u32) -> u16 {
    // A lazy product by 1 is the sum less a multiple of p, below 2p.
    let lazy = one.mul_lazy(sum, p);
    lazy.min(lazy.wrapping_sub(p)) as u16
}
