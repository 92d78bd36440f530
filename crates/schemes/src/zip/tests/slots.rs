//! Digits, slots and phases against sums over the integers.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};

use crate::zip::compression::MAX_KEY_BITS;
use crate::zip::slots::{
    LOG2_UNIT, OFFSET, RowSums, SLOT_BITS, Weights, decode, digit, of_words, rows_each, word, words,
};

#[test]
fn rows_fill_a_modulus_and_leave_room_for_their_products() {
    let full: Vec<usize> = (1..=8).map(|t| rows_each(3072, 1280, t)).collect();
    assert_eq!(full, [191, 95, 63, 47, 37, 31, 26, 23]);
    assert!(
        full.iter()
            .zip(1..)
            .all(|(rows, t)| rows * t + t - 1 <= 191)
    );

    assert_eq!((rows_each(512, 1280, 1), rows_each(256, 1280, 8)), (31, 1));
}

#[test]
fn digits_are_the_negated_hint_rounded() {
    for hint in [
        0u32,
        1,
        0x7fff,
        0x8000,
        0x8001,
        0x1234_5678,
        u32::MAX,
        0x8000_0000,
    ] {
        let (digit, error) = digit(hint);
        let units = i32::from(digit) - OFFSET as i32;
        let back = ((units as u32) << LOG2_UNIT).wrapping_sub(error as u32);
        assert_eq!(back, hint.wrapping_neg(), "{hint:x}");
        assert!(error.abs() <= 1 << (LOG2_UNIT - 1));
    }
}

#[test]
fn slots_are_words_and_back() {
    let slots: Vec<u16> = (0..9u16).map(|i| i.wrapping_mul(0x3579)).collect();
    let packed: Vec<u64> = words(&slots).collect();
    assert_eq!(
        (packed.len(), packed[0] & 0xffff_ffff, packed[2]),
        (3, 0x3579_0000, u64::from(slots[8]))
    );
    assert_eq!(of_words(&packed).take(9).collect::<Vec<_>>(), slots);
}

/// Returns the exponents of rows times the slots of a key, slot by slot, as Paillier adds them up.
fn multiplied(hints: &[Vec<u32>], key: &[u32], t: usize) -> (Vec<u16>, Vec<RowSums>) {
    let plaintexts = key.len().div_ceil(t);
    let mut exponents = vec![vec![0u16; hints.len() * t]; plaintexts];

    let write = |(row, hint): (usize, &Vec<u32>)| {
        RowSums::write(
            hint,
            t,
            exponents.iter_mut().map(Vec::as_mut_slice),
            row * t,
        )
    };
    let sums = hints.iter().enumerate().map(write).collect();

    let mut totals = vec![0u64; (hints.len() + 1) * t];
    for (exponent, bits) in exponents.iter().zip(key.chunks(t)) {
        for (slot, digit) in exponent.iter().enumerate() {
            for (j, bit) in bits.iter().enumerate() {
                totals[slot + j] += u64::from(*digit) * u64::from(*bit);
            }
        }
    }

    let mut carry = 0;
    let carried = totals.iter().map(|total| {
        let value = total + carry;
        carry = value >> SLOT_BITS;
        value as u16
    });
    (carried.collect(), sums)
}

#[test]
fn rows_decode_from_the_highest_of_their_slots() {
    let random = |seed: u64, count: usize| {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        (0..count).map(|_| rng.next_u32()).collect::<Vec<u32>>()
    };

    for t in 1..=MAX_KEY_BITS {
        let n = 1280;
        let hints: Vec<Vec<u32>> = (0..5).map(|row| random(row, n)).collect();
        let key: Vec<u32> = random(9, n).iter().map(|word| word >> 31).collect();
        let (slots, sums) = multiplied(&hints, &key, t);
        let weights = Weights::of(&key, t);

        for (row, hint) in hints.iter().enumerate() {
            let inner = hint
                .iter()
                .zip(&key)
                .fold(0u32, |sum, (h, s)| sum.wrapping_add(h.wrapping_mul(*s)));
            let message = 37 * row as u32;

            let b = inner.wrapping_add(message << 24);
            let before = row.checked_sub(1).map(|before| sums[before]);
            let value = slots[row * t + t - 1].wrapping_add(word(b, sums[row], before));
            let (found, distance) = decode(weights.phase(value, row == 0), 8);

            // Seven units are a deviation, 128 half of the distance of messages.
            assert!(
                u32::from(found) == message && distance < 50,
                "{t}, row {row}: {found}, {distance}"
            );
        }
    }
}

#[test]
fn phases_decode_to_the_messages_they_were_made_of() {
    for (message, noise) in [(0u8, 0i32), (255, 127), (255, -128), (17, 100), (128, -5)] {
        let phase = (i32::from(message) << 8) + noise;
        assert_eq!(
            decode(phase as u16, 8),
            (message, noise.unsigned_abs() as u16)
        );
    }

    assert_eq!(
        (decode(512 * 100 - 200, 7), decode(65_500, 7)),
        ((100, 200), (0, 36))
    );
}
