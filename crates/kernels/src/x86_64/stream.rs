//! Prefetching for kernels that read a matrix once.

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// Asks for the cache line `ahead` bytes after a place, which need not be one of the program's.
#[inline(always)]
pub(crate) fn prefetch<T>(place: *const T, ahead: usize) {
    let line = place.cast::<i8>().wrapping_add(ahead);
    // SAFETY: a prefetch is a hint: it reads nothing and may name any address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
}
