//! Residues of 50 bits from bytes, eight at a time.

use std::arch::x86_64::*;

use crate::wide::packed::{GROUP, GROUP_BYTES, MASK, PLACES};

/// Mask of the bytes of a group in a register.
const LOADED: u64 = (1 << GROUP_BYTES) - 1;

/// For each byte of the words, its place in the group.
const BYTES: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut i = 0;
    while i < 64 {
        bytes[i] = (PLACES[i / 8].0 + i % 8) as u8;
        i += 1;
    }
    bytes
};

/// The shift of each word.
const SHIFTS: [u64; GROUP] = {
    let mut shifts = [0; GROUP];
    let mut i = 0;
    while i < GROUP {
        shifts[i] = PLACES[i].1 as u64;
        i += 1;
    }
    shifts
};

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(crate) fn unpack(out: &mut [u64], bytes: &[u8]) {
    // SAFETY: both arrays have 64 bytes, read at any alignment.
    let [places, shifts] = unsafe {
        [
            _mm512_loadu_si512(BYTES.as_ptr().cast()),
            _mm512_loadu_si512(SHIFTS.as_ptr().cast()),
        ]
    };

    let mask = _mm512_set1_epi64(MASK as i64);
    let groups = out
        .as_chunks_mut::<GROUP>()
        .0
        .iter_mut()
        .zip(bytes.as_chunks::<GROUP_BYTES>().0);

    for (out, bytes) in groups {
        // SAFETY: the mask limits the load to the group's bytes.
        let group = unsafe { _mm512_maskz_loadu_epi8(LOADED, bytes.as_ptr().cast()) };
        let words = _mm512_srlv_epi64(_mm512_permutexvar_epi8(places, group), shifts);
        // SAFETY: 64 bytes of `out` are written, at any alignment.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), _mm512_and_si512(words, mask)) };
    }
}
