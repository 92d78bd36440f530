//! Prefetching for kernels that read a matrix once, front to back.

/// Bytes of a cache line.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const LINE: usize = 64;

/// Prefetches the block that follows one in the cache, while a pass uses that one.
///
/// A pass may use the words of a block in another order, and several times for several queries.
/// This goes through the next block once and in the order of addresses, which the CPU's own
/// prefetcher can follow, and at an even pace: prefetches faster than the memory would stall the
/// pass.
#[derive(Clone, Copy)]
pub(crate) struct Ahead {
    /// Number of steps for each part.
    every: usize,
    rest: usize,
    /// Bytes of the next block before the next part.
    bytes: usize,
}

impl Ahead {
    /// Starts a block whose parts are used by `every` steps each.
    #[inline(always)]
    pub(crate) fn new(every: usize) -> Self {
        Self {
            every,
            rest: every,
            bytes: 0,
        }
    }

    /// One step: prefetches another `T` of the block after `block` if it is time. It may lie
    /// outside the slice, and even outside the memory of the program.
    #[inline(always)]
    pub(crate) fn step<T>(&mut self, block: &[T]) {
        if let Some(bytes) = self.next_part(size_of::<T>()) {
            prefetch_after::<T>(block, bytes);
        }
    }

    /// One step: returns where the next part begins in the next block if it is time. `part` is its
    /// number of bytes.
    #[inline(always)]
    fn next_part(&mut self, part: usize) -> Option<usize> {
        self.rest -= 1;
        if self.rest > 0 {
            return None;
        }

        // Counted in bytes: the queries of one block may use it in parts of different sizes.
        let start = self.bytes;
        self.rest = self.every;
        self.bytes += part;
        Some(start)
    }
}

/// Prefetches the `T` that is `parts` after the end of `block`, or its part of a cache line. It may
/// lie outside the memory of the program.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn prefetch<T>(block: &[T], parts: usize) {
    prefetch_after(block, parts * size_of::<T>());
}

/// Prefetches the `T` that is `bytes` after the end of `block`, or its part of a cache line. It may
/// lie outside the memory of the program.
#[inline(always)]
fn prefetch_after<T>(block: &[T], bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..(size_of::<T>() / LINE).max(1) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let ahead = size_of_val(block) + bytes + line * LINE;
        let line = block.as_ptr().cast::<i8>().wrapping_add(ahead);
        // SAFETY: a prefetch is a hint: it reads nothing and may name any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
    }

    #[cfg(target_arch = "aarch64")]
    for line in 0..(size_of::<T>() / LINE).max(1) {
        let ahead = size_of_val(block) + bytes + line * LINE;
        let line = block.as_ptr().cast::<u8>().wrapping_add(ahead);
        // SAFETY: a prefetch is a hint: it reads nothing and may name any address.
        unsafe {
            std::arch::asm!("prfm pldl1keep, [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
        }
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = (block, bytes);
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

    #[cfg(target_arch = "aarch64")]
    for line in words.chunks(LINE / size_of::<u64>()) {
        // SAFETY: as in `prefetch`.
        unsafe {
            std::arch::asm!("prfm pldl2keep, [{}]", in(reg) line.as_ptr(), options(nostack, preserves_flags, readonly));
        }
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = words;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two queries use a block of 1,024 bytes, one in parts of 64 bytes and one in parts of 128.
    #[test]
    fn parts_of_different_sizes_cover_the_next_block_once() {
        let mut ahead = Ahead::new(2);
        let mut covered = 0;
        for part in [[64; 16].as_slice(), &[128; 8]].concat() {
            if let Some(start) = ahead.next_part(part) {
                assert_eq!(start, covered, "the next part follows the last one");
                covered += part;
            }
        }
        assert_eq!(covered, 1024);
    }
}
