//! Packing of values into bytes: see [`crate::bits`].

/// Bytes of a word.
const WORD: usize = 8;

/// Packs into `out`, which has exactly the packed length.
#[inline(always)]
pub(crate) fn pack(values: &[u64], width: u32, out: &mut [u8]) {
    let mask = u64::MAX >> (64 - width);
    let (words, tail) = out.as_chunks_mut::<WORD>();
    let mut words = words.iter_mut();
    let mut word = 0;
    let mut filled = 0;

    for &value in values {
        let value = value & mask;
        word |= value << filled;
        filled += width;
        if filled >= 64 {
            if let Some(place) = words.next() {
                *place = word.to_le_bytes();
            }
            filled -= 64;
            // The `filled` bits that did not fit. Two shifts, since there may be none and a shift
            // by 64 overflows.
            word = value >> 1 >> (width - 1 - filled);
        }
    }

    // The rest is a whole word of bytes if 57 bits or more are filled.
    let rest = words.next().map_or(tail, <[u8; WORD]>::as_mut_slice);
    rest.copy_from_slice(&word.to_le_bytes()[..rest.len()]);
}

/// Unpacks `bytes`, which has exactly the packed length.
#[inline(always)]
pub(crate) fn unpack(bytes: &[u8], width: u32, out: &mut [u64]) {
    let mask = u64::MAX >> (64 - width);
    let (words, tail) = bytes.as_chunks::<WORD>();
    let mut last = [0; WORD];
    last[..tail.len()].copy_from_slice(tail);
    let mut words = words
        .iter()
        .chain([&last])
        .map(|word| u64::from_le_bytes(*word));

    let mut word = 0;
    let mut left = 0;

    for out in out {
        if left >= width {
            *out = word & mask;
            left -= width;
            word = word >> 1 >> (width - 1);
        } else {
            let next = words.next().unwrap_or(0);
            *out = (word | next << left) & mask;
            // `width − left` bits of `next` are used up: 1 to 64, again in two shifts.
            word = next >> 1 >> (width - left - 1);
            left += 64 - width;
        }
    }
}
