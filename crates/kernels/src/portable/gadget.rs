//! Balanced digits: a block of shifted words, then one pass for each digit.

use crate::gadget::base::Gadget2;
use crate::gadget::digits::Digits;
use crate::modulus::Modulus;

/// Words that are shifted before their digits are written; they stay in the first-level cache.
const BLOCK: usize = 128;

#[inline(always)]
pub(crate) fn decompose(gadget: &Gadget2, digits: &mut [i32], r1: &[u32], r2: &[u32]) {
    let d = r1.len();
    let mut shifted = [0u64; BLOCK];
    for (block, (r1, r2)) in r1.chunks(BLOCK).zip(r2.chunks(BLOCK)).enumerate() {
        let shifted = &mut shifted[..r1.len()];
        for ((shifted, &r1), &r2) in shifted.iter_mut().zip(r1).zip(r2) {
            *shifted = gadget.shifted(r1, r2);
        }

        for level in 0..gadget.levels() {
            let start = level * d + block * BLOCK;
            let out = &mut digits[start..start + shifted.len()];
            write_level(&gadget.digits, level, out, shifted);
        }
    }
}

#[inline(always)]
pub(crate) fn decompose_lazy(
    gadget: &Gadget2,
    out1: &mut [u32],
    out2: &mut [u32],
    r1: &[u32],
    r2: &[u32],
) {
    let d = r1.len();
    let mut shifted = [0u64; BLOCK];
    let mut digits = [0i32; BLOCK];

    for (block, (r1, r2)) in r1.chunks(BLOCK).zip(r2.chunks(BLOCK)).enumerate() {
        let shifted = &mut shifted[..r1.len()];
        let digits = &mut digits[..r1.len()];
        for ((shifted, &r1), &r2) in shifted.iter_mut().zip(r1).zip(r2) {
            *shifted = gadget.shifted(r1, r2);
        }

        for level in 0..gadget.levels() {
            let place = level * d + block * BLOCK..level * d + block * BLOCK + shifted.len();
            write_level(&gadget.digits, level, digits, shifted);
            let outs = out1[place.clone()].iter_mut().zip(&mut out2[place]);
            for ((out1, out2), &digit) in outs.zip(&*digits) {
                *out1 = gadget.q1.wrapping_add_signed(digit);
                *out2 = gadget.q2.wrapping_add_signed(digit);
            }
        }
    }
}

/// Digit `level` of a block of shifted words.
#[inline(always)]
pub(super) fn write_level(digits: &Digits, level: usize, out: &mut [i32], shifted: &[u64]) {
    if level + 1 == digits.levels {
        for (out, &shifted) in out.iter_mut().zip(shifted) {
            *out = digits.top_digit(shifted) as i32;
        }
    } else {
        for (out, &shifted) in out.iter_mut().zip(shifted) {
            *out = digits.digit(shifted, level);
        }
    }
}

#[inline(always)]
pub(crate) fn to_residues(out: &mut [u32], digits: &[i32], modulus: Modulus) {
    let q = modulus.value();
    // Adds 2³¹ to each word to make it unsigned, and subtracts 2³¹ mod q from the residue.
    let middle = modulus.reduce(1 << 31);
    for (out, &digit) in out.iter_mut().zip(digits) {
        let raised = modulus.reduce_word_lazy(digit as u32 ^ 1 << 31);
        let rest = raised.min(raised.wrapping_sub(q)).wrapping_sub(middle);
        *out = rest.min(rest.wrapping_add(q));
    }
}

#[inline(always)]
pub(crate) fn centre(out: &mut [i32], residues: &[u32], modulus: Modulus) {
    let q = modulus.value() as i32;
    let half = modulus.value() as i32 / 2;
    for (out, &residue) in out.iter_mut().zip(residues) {
        // All ones if the residue exceeds q/2: both are below 2³⁰, so the difference keeps its
        // sign.
        let above = (half - residue as i32) >> 31;
        *out = residue as i32 - (q & above);
    }
}
