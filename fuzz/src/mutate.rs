//! Mutations of an input.

use chacha20::ChaCha20Rng;
use rand_core::Rng;

/// Maximum length to which mutations grow an input: 1 MiB.
const LONGEST: usize = 1 << 20;

/// Boundary values at which parsers tend to fail.
const NUMBERS: [u64; 14] = [
    0,
    1,
    7,
    8,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 40,
    u64::MAX >> 1,
    u64::MAX,
];

/// A random number below `bound`; a bound of 0 counts as 1.
pub fn below(rng: &mut ChaCha20Rng, bound: usize) -> usize {
    (rng.next_u64() % bound.max(1) as u64) as usize
}

/// A copy of `input` with one to eight mutations, each of a random kind. `other` is another input
/// of the same format.
pub fn mutate(input: &[u8], other: &[u8], words: &[&str], rng: &mut ChaCha20Rng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=below(rng, 8) {
        change(&mut bytes, other, words, rng);
    }
    bytes.truncate(LONGEST.max(input.len()));
    bytes
}

fn change(bytes: &mut Vec<u8>, other: &[u8], words: &[&str], rng: &mut ChaCha20Rng) {
    let offset = random_offset(bytes.len(), rng);
    match below(rng, 11) {
        0 => flip(bytes, offset, rng),
        1 => put(bytes, offset, &[rng.next_u32() as u8]),
        2 => number(bytes, offset, rng),
        3 => add(bytes, offset, rng),
        4 => bytes.truncate(offset),
        5 => drop(bytes.drain(offset..end(bytes.len(), offset, rng))),
        6 => {
            let part = bytes[offset..end(bytes.len(), offset, rng)].to_vec();
            insert(bytes, offset, &part);
        }
        7 => insert(
            bytes,
            offset,
            &rng.next_u64().to_le_bytes()[..below(rng, 9)],
        ),
        8 => {
            let start = below(rng, other.len());
            let part = &other[start..end(other.len(), start, rng)];
            put(bytes, offset, part);
        }
        9 => decimal(bytes, offset, rng),
        _ => match words.get(below(rng, words.len())) {
            Some(word) => insert(bytes, offset, word.as_bytes()),
            None => flip(bytes, offset, rng),
        },
    }
}

/// A random offset: half of the time within the first 64 bytes, where headers are.
fn random_offset(length: usize, rng: &mut ChaCha20Rng) -> usize {
    let bound = if rng.next_u32() & 1 == 0 {
        length.min(64)
    } else {
        length
    };
    below(rng, bound)
}

/// The end of a part that starts at `start`; short parts are more likely.
fn end(length: usize, start: usize, rng: &mut ChaCha20Rng) -> usize {
    let longest = 1usize << below(rng, 16);
    (start + below(rng, longest)).min(length)
}

fn put(bytes: &mut [u8], offset: usize, part: &[u8]) {
    for (byte, new) in bytes.iter_mut().skip(offset).zip(part) {
        *byte = *new;
    }
}

fn insert(bytes: &mut Vec<u8>, offset: usize, part: &[u8]) {
    bytes.splice(offset..offset, part.iter().copied());
}

fn flip(bytes: &mut [u8], offset: usize, rng: &mut ChaCha20Rng) {
    if let Some(byte) = bytes.get_mut(offset) {
        *byte ^= 1 << (rng.next_u32() % 8);
    }
}

/// Overwrites the bytes at `offset` with a boundary value of 1, 2, 4 or 8 bytes.
fn number(bytes: &mut [u8], offset: usize, rng: &mut ChaCha20Rng) {
    let value = NUMBERS[below(rng, NUMBERS.len())].to_le_bytes();
    put(bytes, offset, &value[..1 << below(rng, 4)]);
}

/// Changes the 4-byte number at `offset` by at most 16.
fn add(bytes: &mut [u8], offset: usize, rng: &mut ChaCha20Rng) {
    let mut value = [0; 4];
    value
        .iter_mut()
        .zip(bytes.iter().skip(offset))
        .for_each(|(to, from)| *to = *from);
    let changed = u32::from_le_bytes(value)
        .wrapping_add(rng.next_u32() % 33)
        .wrapping_sub(16);
    put(bytes, offset, &changed.to_le_bytes());
}

/// Inserts a boundary value in decimal digits, one in four of them negative.
fn decimal(bytes: &mut Vec<u8>, offset: usize, rng: &mut ChaCha20Rng) {
    let sign = if rng.next_u32().is_multiple_of(4) {
        "-"
    } else {
        ""
    };
    let text = format!("{sign}{}", NUMBERS[below(rng, NUMBERS.len())]);
    insert(bytes, offset, text.as_bytes());
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn inputs_change_and_stay_within_bounds() {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        for seed in [&b""[..], b"a", &[7; 300]] {
            let changed = (0..2000).map(|_| mutate(seed, b"other", &["word"], &mut rng));
            let lengths: Vec<usize> = changed
                .filter(|bytes| bytes != seed)
                .map(|bytes| bytes.len())
                .collect();
            assert!(lengths.len() > 500, "{} of 2000", lengths.len());
            assert!(lengths.iter().any(|&length| length > seed.len()));
        }
    }
}
