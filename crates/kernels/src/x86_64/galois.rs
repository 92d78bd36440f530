//! Permutation of slots, a register at a time if its sources are in one run.
//!
//! X → X^e maps each aligned run of 2^k slots in bit-reversed order onto another one, so a run is
//! one load and one shuffle. Other permutations are done slot by slot.

use super::lanes::WideLanes;
use crate::portable;

#[inline(always)]
pub(super) fn permute<L: WideLanes<N>, const N: usize>(
    lanes: L,
    out: &mut [u32],
    a: &[u32],
    permutation: &[u32],
) {
    let (sources, _) = a.as_chunks::<N>();
    let (runs, out_tail) = out.as_chunks_mut::<N>();
    let (indices, index_tail) = permutation.as_chunks::<N>();

    for (out, indices) in runs.iter_mut().zip(indices) {
        // An index out of range leads to the portable code, which panics on it.
        match sources.get(indices[0] as usize / N) {
            Some(source) if lanes.in_one_run(lanes.load(indices), indices[0]) => {
                lanes.store(out, lanes.permute(lanes.load(source), lanes.load(indices)));
            }
            _ => portable::galois::permute(out, a, indices),
        }
    }
    portable::galois::permute(out_tail, a, index_tail);
}
