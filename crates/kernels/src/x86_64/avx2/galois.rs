//! Permutation of slots, eight at a time: see [`crate::x86_64::galois`].

use super::lanes::Avx2;
use crate::x86_64::galois;

#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn permute(out: &mut [u32], a: &[u32], permutation: &[u32]) {
    galois::permute(Avx2::new(), out, a, permutation);
}
