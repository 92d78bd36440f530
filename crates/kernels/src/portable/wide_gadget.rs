//! Balanced digits modulo a wide prime: a block of shifted words, then one pass for each digit.

use super::gadget::write_level;
use crate::wide::gadget::Gadget;

/// Words that are shifted before their digits are written; they stay in the first-level cache.
const BLOCK: usize = 128;

#[inline(always)]
pub(crate) fn decompose(gadget: &Gadget, digits: &mut [i32], words: &[u64]) {
    by_levels(gadget, digits, words, |level, out, shifted| {
        write_level(&gadget.digits, level, out, shifted)
    });
}

#[inline(always)]
pub(crate) fn decompose_lazy(gadget: &Gadget, out: &mut [u64], words: &[u64]) {
    by_levels(gadget, out, words, |level, out, shifted| {
        let pairs = out.iter_mut().zip(shifted);

        // Digits are below q in absolute value, so that δ + q is in (0, 2q).
        if level + 1 == gadget.levels() {
            for (out, &shifted) in pairs {
                *out = gadget
                    .q
                    .wrapping_add_signed(gadget.digits.top_digit(shifted));
            }
        } else {
            for (out, &shifted) in pairs {
                *out = gadget
                    .q
                    .wrapping_add_signed(gadget.digits.digit(shifted, level).into());
            }
        }
    });
}

/// Calls `write(level, out, shifted)` for each level of each block of shifted words.
#[inline(always)]
fn by_levels<T>(
    gadget: &Gadget,
    out: &mut [T],
    words: &[u64],
    write: impl Fn(usize, &mut [T], &[u64]),
) {
    let d = words.len();
    let mut shifted = [0u64; BLOCK];
    for (block, words) in words.chunks(BLOCK).enumerate() {
        let shifted = &mut shifted[..words.len()];
        shift(gadget, shifted, words);
        for level in 0..gadget.levels() {
            let start = level * d + block * BLOCK;
            write(level, &mut out[start..start + shifted.len()], shifted);
        }
    }
}

/// Centres words and adds the offset of the digits.
#[inline(always)]
fn shift(gadget: &Gadget, shifted: &mut [u64], words: &[u64]) {
    for (shifted, &word) in shifted.iter_mut().zip(words) {
        *shifted = gadget.shifted(word);
    }
}
