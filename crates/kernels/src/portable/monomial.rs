//! Rotations and their Fourier transform, for both kinds of words.
//!
//! A rotation copies two contiguous runs, one of them negated. So the inner loops work on slices of
//! one length, without indices.

use crate::modulus::Modulus;

/// Addition, subtraction and negation of the words of a polynomial.
pub(crate) trait Words: Copy {
    /// The type of a word.
    type Word: Copy;
    fn add(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn sub(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn neg(self, a: Self::Word) -> Self::Word;
}

/// Integers that wrap at 32 bits.
#[derive(Clone, Copy)]
pub(crate) struct Integers;

impl Words for Integers {
    type Word = i32;
    #[inline(always)]
    fn add(self, a: i32, b: i32) -> i32 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn sub(self, a: i32, b: i32) -> i32 {
        a.wrapping_sub(b)
    }
    #[inline(always)]
    fn neg(self, a: i32) -> i32 {
        a.wrapping_neg()
    }
}

impl Words for Modulus {
    type Word = u32;
    #[inline(always)]
    fn add(self, a: u32, b: u32) -> u32 {
        Self::add(self, a, b)
    }
    #[inline(always)]
    fn sub(self, a: u32, b: u32) -> u32 {
        Self::sub(self, a, b)
    }
    #[inline(always)]
    fn neg(self, a: u32) -> u32 {
        Self::sub(self, 0, a)
    }
}

#[inline(always)]
pub(crate) fn rotate_i32(out: &mut [i32], a: &[i32], shift: usize) {
    rotate(out, a, shift, Integers);
}

#[inline(always)]
pub(crate) fn rotate_mod(out: &mut [u32], a: &[u32], shift: usize, modulus: Modulus) {
    rotate(out, a, shift, modulus);
}

#[inline(always)]
pub(crate) fn butterfly_i32(u: &mut [i32], v: &mut [i32], shift: usize, scratch: &mut [i32]) {
    butterfly(u, v, shift, scratch, Integers);
}

#[inline(always)]
pub(crate) fn butterfly_mod(
    u: &mut [u32],
    v: &mut [u32],
    shift: usize,
    modulus: Modulus,
    scratch: &mut [u32],
) {
    butterfly(u, v, shift, scratch, modulus);
}

#[inline(always)]
pub(crate) fn dft_i32(polys: &mut [i32], d: usize, scratch: &mut [i32]) {
    dft(polys, d, scratch, Integers);
}

#[inline(always)]
pub(crate) fn dft_mod(polys: &mut [u32], d: usize, modulus: Modulus, scratch: &mut [u32]) {
    dft(polys, d, scratch, modulus);
}

/// The two runs of a rotation: the split of the result, the split of the source, and whether the
/// run that wraps around is the negated one.
#[inline(always)]
fn runs(d: usize, shift: usize) -> (usize, usize, bool) {
    let wrapped = shift % d;
    (wrapped, d - wrapped, shift < d)
}

/// out = a·X^shift.
#[inline(always)]
pub(super) fn rotate<W: Words>(out: &mut [W::Word], a: &[W::Word], shift: usize, words: W) {
    let (out_split, a_split, negate_wrapped) = runs(a.len(), shift);
    let (out_low, out_high) = out.split_at_mut(out_split);
    let (a_low, a_high) = a.split_at(a_split);

    let (plain_out, plain, negated_out, negated) = if negate_wrapped {
        (out_high, a_low, out_low, a_high)
    } else {
        (out_low, a_high, out_high, a_low)
    };

    plain_out.copy_from_slice(plain);
    for (out, &a) in negated_out.iter_mut().zip(negated) {
        *out = words.neg(a);
    }
}

#[inline(always)]
fn butterfly<W: Words>(
    u: &mut [W::Word],
    v: &mut [W::Word],
    shift: usize,
    scratch: &mut [W::Word],
    words: W,
) {
    // The rotated differences go to `scratch`: a run of them would overwrite words of `v` that the
    // other run still reads.
    let (out_split, in_split, negate_wrapped) = runs(u.len(), shift);
    let (out_low, out_high) = scratch.split_at_mut(out_split);
    let (u_low, u_high) = u.split_at_mut(in_split);
    let (v_low, v_high) = v.split_at(in_split);

    if negate_wrapped {
        sum_and_difference(u_low, v_low, out_high, words);
        sum_and_opposite(u_high, v_high, out_low, words);
    } else {
        sum_and_opposite(u_low, v_low, out_high, words);
        sum_and_difference(u_high, v_high, out_low, words);
    }

    v.copy_from_slice(scratch);
}

/// u ← u + v, out ← u − v.
#[inline(always)]
fn sum_and_difference<W: Words>(u: &mut [W::Word], v: &[W::Word], out: &mut [W::Word], words: W) {
    for ((u, &v), out) in u.iter_mut().zip(v).zip(out) {
        (*u, *out) = (words.add(*u, v), words.sub(*u, v));
    }
}

/// u ← u + v, out ← v − u.
#[inline(always)]
fn sum_and_opposite<W: Words>(u: &mut [W::Word], v: &[W::Word], out: &mut [W::Word], words: W) {
    for ((u, &v), out) in u.iter_mut().zip(v).zip(out) {
        (*u, *out) = (words.add(*u, v), words.sub(v, *u));
    }
}

/// Words of polynomials that the second-level cache of a core holds with room to spare.
const CACHED: usize = 1 << 17;

/// Decimation in frequency: stage by stage over all words until a part fits the cache, then all
/// remaining stages of one part before the next.
#[inline(always)]
fn dft<W: Words>(polys: &mut [W::Word], d: usize, scratch: &mut [W::Word], words: W) {
    let part = CACHED.max(d).min(polys.len());
    let mut block = polys.len();
    while block > part {
        stage(polys, d, block, scratch, words);
        block /= 2;
    }

    for part in polys.chunks_exact_mut(block) {
        let mut block = part.len();
        while block > d {
            stage(part, d, block, scratch, words);
            block /= 2;
        }
    }
}

/// One stage of butterflies, separately on each block of words.
#[inline(always)]
fn stage<W: Words>(
    polys: &mut [W::Word],
    d: usize,
    block: usize,
    scratch: &mut [W::Word],
    words: W,
) {
    // A block of n polynomials is transformed by the powers of X^(2d/n).
    let step = 2 * d / (block / d);
    for block in polys.chunks_exact_mut(block) {
        let (low, high) = block.split_at_mut(block.len() / 2);
        let pairs = low.chunks_exact_mut(d).zip(high.chunks_exact_mut(d));
        for (j, (u, v)) in pairs.enumerate() {
            butterfly(u, v, step * j, scratch, words);
        }
    }
}
