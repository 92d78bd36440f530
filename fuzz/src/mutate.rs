//! Mutations of an input.

use chacha20::ChaCha20Rng;
use rand_core::Rng;

/// Mutations grow no input beyond this length: 1 MiB.
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
    let place = place(bytes.len(), rng);
    match below(rng, 11) {
        0 => flip(bytes, place, rng),
        1 => put(bytes, place, &[rng.next_u32() as u8]),
        2 => number(bytes, place, rng),
        3 => add(bytes, place, rng),
        4 => bytes.truncate(place),
        5 => drop(bytes.drain(place..end(bytes.len(), place, rng))),
        6 => {
            let part = bytes[place..end(bytes.len(), place, rng)].to_vec();
            insert(bytes, place, &part);
        }
        7 => insert(bytes, place, &rng.next_u64().to_le_bytes()[..below(rng, 9)]),
        8 => {
            let start = below(rng, other.len());
            let part = &other[start..end(other.len(), start, rng)];
            put(bytes, place, part);
        }
        9 => decimal(bytes, place, rng),
        _ => match words.get(below(rng, words.len())) {
            Some(word) => insert(bytes, place, word.as_bytes()),
            None => flip(bytes, place, rng),
        },
    }
}

/// A random offset: half of the time within the first 64 bytes, where headers are.
fn place(length: usize, rng: &mut ChaCha20Rng) -> usize {
    let bound = if rng.next_u32() & 1 == 0 { length.min(64) } else { length };
    below(rng, bound)
}

/// The end of a part that starts at `start`; short parts are more likely.
fn end(length: usize, start: usize, rng: &mut ChaCha20Rng) -> usize {
    let most = 1usize << below(rng, 16);
    (start + below(rng, most)).min(length)
}

fn put(bytes: &mut [u8], place: usize, part: &[u8]) {
    for (byte, new) in bytes.iter_mut().skip(place).zip(part) {
        *byte = *new;
    }
}

fn insert(bytes: &mut Vec<u8>, place: usize, part: &[u8]) {
    bytes.splice(place..place, part.iter().copied());
}

fn flip(bytes: &mut [u8], place: usize, rng: &mut ChaCha20Rng) {
    if let Some(byte) = bytes.get_mut(place) {
        *byte ^= 1 << (rng.next_u32() % 8);
    }
}

/// Overwrites with a boundary value of 1, 2, 4 or 8 bytes.
fn number(bytes: &mut [u8], place: usize, rng: &mut ChaCha20Rng) {
    let value = NUMBERS[below(rng, NUMBERS.len())].to_le_bytes();
    put(bytes, place, &value[..1 << below(rng, 4)]);
}

/// Changes the 4-byte number at `place` by at most 16.
fn add(bytes: &mut [u8], place: usize, rng: &mut ChaCha20Rng) {
    let mut value = [0; 4];
    value.iter_mut().zip(bytes.iter().skip(place)).for_each(|(to, from)| *to = *from);
    let changed = u32::from_le_bytes(value).wrapping_add(rng.next_u32() % 33).wrapping_sub(16);
    put(bytes, place, &changed.to_le_bytes());
}

/// Inserts a boundary value in decimal digits.
fn decimal(bytes: &mut Vec<u8>, place: usize, rng: &mut ChaCha20Rng) {
    let sign = if rng.next_u32().is_multiple_of(4) { "-" } else { "" };
    let text = format!("{sign}{}", NUMBERS[below(rng, NUMBERS.len())]);
    insert(bytes, place, text.as_bytes());
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
            let lengths: Vec<usize> =
                changed.filter(|bytes| bytes != seed).map(|bytes| bytes.len()).collect();
            assert!(lengths.len() > 500, "{} of 2000", lengths.len());
            assert!(lengths.iter().any(|&length| length > seed.len()));
        }
    }
}
