//! Conversion between words of 64 bits and limbs of fewer bits.

/// Splits the words of an integer into limbs of `bits` bits; higher bits are dropped.
pub(super) fn split(words: &[u64], bits: u32, limbs: &mut [u64]) {
    for (k, limb) in limbs.iter_mut().enumerate() {
        let (at, shift) = position(k, bits);
        // A limb of at most 64 bits is in two words.
        let two = u128::from(word_at(words, at)) | u128::from(word_at(words, at + 1)) << 64;
        *limb = (two >> shift) as u64 & ones(bits);
    }
}

/// Joins limbs of `bits` bits to words; higher bits are dropped.
pub(super) fn join(limbs: &[u64], bits: u32, words: &mut [u64]) {
    words.fill(0);
    for (k, &limb) in limbs.iter().enumerate() {
        let (at, shift) = position(k, bits);
        // Limbs do not overlap, so their bits are combined without carries.
        let two = u128::from(limb) << shift;
        for (word, part) in words
            .iter_mut()
            .skip(at)
            .zip([two as u64, (two >> 64) as u64])
        {
            *word |= part;
        }
    }
}

/// Adds two integers in limbs of `bits` bits; the sum must fit.
pub(super) fn add(acc: &mut [u64], by: &[u64], bits: u32) {
    let mut carry = 0;
    for (acc, &by) in acc.iter_mut().zip(by) {
        let sum = u128::from(*acc) + u128::from(by) + u128::from(carry);
        *acc = sum as u64 & ones(bits);
        carry = (sum >> bits) as u64;
    }
}

/// The word at an index; zero beyond the last word.
fn word_at(words: &[u64], at: usize) -> u64 {
    words.get(at).copied().unwrap_or(0)
}

/// The word and bit at which limb k starts.
fn position(k: usize, bits: u32) -> (usize, usize) {
    let bit = k * bits as usize;
    (bit / 64, bit % 64)
}

/// A word with its lowest `bits` bits (1 to 64) set.
fn ones(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_inverts_split() {
        let words = [u64::MAX, 0x0123_4567_89ab_cdef, 1 << 63];
        for (bits, count) in [(52, 4), (52, 6), (64, 3), (64, 4)] {
            let mut limbs = vec![0; count];
            split(&words, bits, &mut limbs);
            assert!(limbs.iter().all(|limb| limb >> (bits - 1) <= 1));
            let mut back = [7; 3];
            join(&limbs, bits, &mut back);
            assert_eq!(back, words, "{bits}");
        }
    }
}
