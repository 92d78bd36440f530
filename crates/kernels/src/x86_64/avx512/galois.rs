//! Permutation of slots, sixteen at a time: see [`crate::x86_64::galois`].

use super::lanes::Avx512;
use crate::x86_64::galois;

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(crate) fn permute(out: &mut [u32], a: &[u32], permutation: &[u32]) {
    galois::permute(Avx512::new(), out, a, permutation);
}
