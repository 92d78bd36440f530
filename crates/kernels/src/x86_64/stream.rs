//! Prefetching for kernels that read a matrix once, from front to back.

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// How far ahead a pass asks for its bytes: a page, which the CPU's own
/// prefetcher does not look beyond.
const AHEAD: usize = 4096;

/// Asks for the cache line that is [`AHEAD`] bytes after a place; it need not be
/// one of the program's.
#[inline(always)]
pub(crate) fn prefetch<T>(place: *const T) {
    let line = place.cast::<i8>().wrapping_add(AHEAD);
    // SAFETY: a prefetch is a hint: it reads nothing and may name any address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
}
