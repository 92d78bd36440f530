//! Residues of 50 bits from bytes, four at a time: 25 bytes, in two halves that overlap.

use std::arch::x86_64::*;

use crate::wide::packed::MASK;

/// Words of a register, and their bytes.
const WORDS: usize = 4;
const BYTES: usize = 25;
/// First byte of the second half.
const SECOND: usize = BYTES - 16;

#[target_feature(enable = "avx2")]
pub(crate) fn unpack(out: &mut [u64], bytes: &[u8]) {
    // Words 0 and 1 begin at bytes 0 and 6 of the first half; 2 and 3 at bytes 3 and 8 of the
    // second.
    let places = _mm256_setr_epi8(
        0, 1, 2, 3, 4, 5, 6, 7, 6, 7, 8, 9, 10, 11, 12, 13, 3, 4, 5, 6, 7, 8, 9, 10, 8, 9, 10, 11,
        12, 13, 14, 15,
    );
    let shifts = _mm256_setr_epi64x(0, 2, 4, 14);
    let mask = _mm256_set1_epi64x(MASK as i64);

    for (out, bytes) in out
        .as_chunks_mut::<WORDS>()
        .0
        .iter_mut()
        .zip(bytes.as_chunks::<BYTES>().0)
    {
        // SAFETY: each half has 16 of the 25 bytes, read at any alignment.
        let [low, high] = unsafe {
            let first: *const u8 = bytes.as_ptr();
            [
                _mm_loadu_si128(first.cast()),
                _mm_loadu_si128(first.add(SECOND).cast()),
            ]
        };

        let words = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), places);
        let words = _mm256_and_si256(_mm256_srlv_epi64(words, shifts), mask);
        // SAFETY: 32 bytes of `out` are written, at any alignment.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), words) };
    }
}
