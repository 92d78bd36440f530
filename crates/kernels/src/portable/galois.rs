//! Permutation of slots, one at a time.

pub(crate) fn permute(out: &mut [u32], a: &[u32], permutation: &[u32]) {
    for (out, &source) in out.iter_mut().zip(permutation) {
        *out = a[source as usize];
    }
}
