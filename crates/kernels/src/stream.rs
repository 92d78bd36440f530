//! Prefetching for kernels that read a matrix once, from front to back.

/// How far ahead a pass asks for its bytes: a page, which the CPU's own
/// prefetcher does not look beyond.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 4096;
/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Asks for the whole cache lines that are a page after those of `place`; they need
/// not be the program's.
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

/// Asks for these words, for the second-level cache: they are needed soon, not next.
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
