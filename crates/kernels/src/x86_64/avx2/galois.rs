//! Permutation of slots, eight at a time where they come from one place.
//!
//! X → X^e maps each aligned run of 2^k slots in bit-reversed order onto another
//! one; then a run is one load and one shuffle. Other indices are followed one by one.

use core::arch::x86_64::*;

use super::lanes::{Words, load, splat, store};
use crate::portable;

#[target_feature(enable = "avx2")]
pub(crate) fn permute(out: &mut [u32], a: &[u32], permutation: &[u32]) {
    let (sources, _) = a.as_chunks::<8>();
    let (runs, out_tail) = out.as_chunks_mut::<8>();
    let (indices, index_tail) = permutation.as_chunks::<8>();
    for (out, indices) in runs.iter_mut().zip(indices) {
        match sources.get(indices[0] as usize / 8) {
            Some(source) if one_run(indices) => shuffle(out, source, indices),
            _ => portable::galois::permute(out, a, indices),
        }
    }
    portable::galois::permute(out_tail, a, index_tail);
}

/// Whether all indices lie in the aligned run of the first one.
#[inline]
#[target_feature(enable = "avx2")]
fn one_run(indices: &Words) -> bool {
    let differences = _mm256_xor_si256(load(indices), splat(indices[0]));
    _mm256_testz_si256(differences, splat(!7)) == 1
}

/// `out[k] = source[indices[k] mod 8]`.
#[inline]
#[target_feature(enable = "avx2")]
fn shuffle(out: &mut Words, source: &Words, indices: &Words) {
    store(out, _mm256_permutevar8x32_epi32(load(source), load(indices)));
}
