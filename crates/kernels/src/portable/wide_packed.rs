//! Residues of 50 bits in bytes: see [`crate::wide::packed`].

use crate::wide::packed::{GROUP, GROUP_BYTES, MASK, PLACES};

#[inline(always)]
pub(crate) fn pack(out: &mut [u8], words: &[u64]) {
    let groups = out
        .as_chunks_mut::<GROUP_BYTES>()
        .0
        .iter_mut()
        .zip(words.as_chunks::<GROUP>().0);
    for (out, words) in groups {
        *out = [0; GROUP_BYTES];
        for (&(first, shift), &word) in PLACES.iter().zip(words) {
            // Neighbouring words share bytes, so their bits are combined.
            let place = &mut out[first..first + 8];
            for (place, byte) in place.iter_mut().zip(((word & MASK) << shift).to_le_bytes()) {
                *place |= byte;
            }
        }
    }
}

#[inline(always)]
pub(crate) fn unpack(out: &mut [u64], bytes: &[u8]) {
    let groups = out
        .as_chunks_mut::<GROUP>()
        .0
        .iter_mut()
        .zip(bytes.as_chunks::<GROUP_BYTES>().0);
    for (out, bytes) in groups {
        for (out, &(first, shift)) in out.iter_mut().zip(&PLACES) {
            let word = bytes[first..]
                .first_chunk()
                .map_or(0, |word| u64::from_le_bytes(*word));
            *out = word >> shift & MASK;
        }
    }
}
