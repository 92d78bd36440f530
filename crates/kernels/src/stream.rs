//! Prefetching for kernels that read a matrix once, front to back.

/// Bytes that a pass prefetches ahead: a page, since the CPU's own prefetcher stops at its end.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 4096;
/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Prefetches the whole cache lines one page after those of `place`. They may lie outside the
/// slice, and even outside the memory of the program.
#[inline(always)]
pub(crate) fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..size_of::<T>() / LINE {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = std::ptr::from_ref(place).cast::<i8>().wrapping_add(AHEAD + LINE * line);
        // SAFETY: a prefetch is a hint: it reads nothing and may name any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Prefetches words into the second-level cache: they are needed soon, but not next.
#[inline(always)]
pub(crate) fn prefetch_words(words: &[u64]) {
    #[cfg(target_arch = "x86_64")]
    for line in words.chunks(LINE / size_of::<u64>()) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a prefetch is a hint: it reads nothing and may name any address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = words;
}
