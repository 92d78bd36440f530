//! Slot-by-slot arithmetic, in loops that LLVM vectorises.

use crate::modulus::{Factor, Modulus};

#[inline(always)]
pub(crate) fn add(out: &mut [u32], a: &[u32], b: &[u32], modulus: Modulus) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = modulus.add(a, b);
    }
}

#[inline(always)]
pub(crate) fn add_assign(acc: &mut [u32], a: &[u32], modulus: Modulus) {
    for (acc, &a) in acc.iter_mut().zip(a) {
        *acc = modulus.add(*acc, a);
    }
}

#[inline(always)]
pub(crate) fn sub(out: &mut [u32], a: &[u32], b: &[u32], modulus: Modulus) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = modulus.sub(a, b);
    }
}

#[inline(always)]
pub(crate) fn sub_assign(acc: &mut [u32], a: &[u32], modulus: Modulus) {
    for (acc, &a) in acc.iter_mut().zip(a) {
        *acc = modulus.sub(*acc, a);
    }
}

#[inline(always)]
pub(crate) fn neg(out: &mut [u32], a: &[u32], modulus: Modulus) {
    for (out, &a) in out.iter_mut().zip(a) {
        *out = modulus.sub(0, a);
    }
}

#[inline(always)]
pub(crate) fn mul(out: &mut [u32], a: &[u32], b: &[u32], modulus: Modulus) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = modulus.mul(a, b);
    }
}

#[inline(always)]
pub(crate) fn mul_assign(acc: &mut [u32], a: &[u32], modulus: Modulus) {
    for (acc, &a) in acc.iter_mut().zip(a) {
        *acc = modulus.mul(*acc, a);
    }
}

#[inline(always)]
pub(crate) fn scale(out: &mut [u32], a: &[u32], constant: u32, modulus: Modulus) {
    // One division, for the quotient of the factor. Then any word `a` will do, reduced or not.
    let factor = Factor::new(constant, modulus.value());
    for (out, &a) in out.iter_mut().zip(a) {
        *out = modulus.subtract_once(factor.mul_lazy(a, modulus.value()));
    }
}

#[inline(always)]
pub(crate) fn mul_accumulate(acc: &mut [u64], a: &[u32], b: &[u32]) {
    for ((acc, &a), &b) in acc.iter_mut().zip(a).zip(b) {
        // Callers count the products. In test builds a checked sum would not be vectorised.
        *acc = acc.wrapping_add(u64::from(a) * u64::from(b));
    }
}

#[inline(always)]
pub(crate) fn reduce(out: &mut [u32], acc: &[u64], modulus: Modulus) {
    for (out, &acc) in out.iter_mut().zip(acc) {
        *out = modulus.reduce(acc);
    }
}

/// Words that are summed at a time: the sums stay in registers.
const BLOCK: usize = 32;

#[inline(always)]
pub(crate) fn dot(out: &mut [u32], a: &[u32], b: &[u32], modulus: Modulus) {
    let d = out.len();
    let (blocks, rest) = out.as_chunks_mut::<BLOCK>();
    let start = blocks.len() * BLOCK;

    for (block, out) in blocks.iter_mut().enumerate() {
        let mut sums = [0u64; BLOCK];
        for (a, b) in a.chunks_exact(d).zip(b.chunks_exact(d)) {
            let a = &a.as_chunks::<BLOCK>().0[block];
            let b = &b.as_chunks::<BLOCK>().0[block];
            // The kernel has checked that all products together fit 64 bits.
            for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
                *sum = sum.wrapping_add(u64::from(a) * u64::from(b));
            }
        }
        for (out, &sum) in out.iter_mut().zip(&sums) {
            *out = modulus.reduce(sum);
        }
    }

    for (place, out) in rest.iter_mut().enumerate() {
        let rows = a.chunks_exact(d).zip(b.chunks_exact(d));
        let products = rows.map(|(a, b)| u64::from(a[start + place]) * u64::from(b[start + place]));
        *out = modulus.reduce(products.fold(0, u64::wrapping_add));
    }
}

#[inline(always)]
pub(crate) fn combine(out: &mut [u32], rows: &[u32], weights: &[u32], modulus: Modulus) {
    let length = out.len();
    for (block, out) in out.chunks_mut(BLOCK).enumerate() {
        let mut sums = [0u64; BLOCK];
        for (row, &weight) in rows.chunks_exact(length).zip(weights) {
            let row = &row[block * BLOCK..][..out.len()];
            // Both branches do the same: LLVM knows the length in the first one, and only the
            // last block takes the other.
            if let Some(row) = row.first_chunk::<BLOCK>() {
                add_multiple(&mut sums, row, weight);
            } else {
                add_multiple(&mut sums, row, weight);
            }
        }

        for (out, &sum) in out.iter_mut().zip(&sums) {
            *out = modulus.reduce(sum);
        }
    }
}

/// sums += weight·row. For a row of constant length LLVM unrolls the loop.
#[inline(always)]
fn add_multiple(sums: &mut [u64; BLOCK], row: &[u32], weight: u32) {
    for (sum, &word) in sums.iter_mut().zip(row) {
        *sum = sum.wrapping_add(u64::from(weight) * u64::from(word));
    }
}
