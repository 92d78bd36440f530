//! Tests of the building blocks.

use std::cell::Cell;

use papir_core::{Change, Error, RecordBuffer, Records, Shape, extract_bits};
use zeroize::Zeroize;

use super::digits::Digits;
use super::stored_records::read_columns;
use super::units::{Units, decoded};

#[test]
fn units_hold_whole_records() {
    for (bits, stored, per_unit) in [
        (1, 1, 256),
        (3, 3, 80),
        (8, 8, 32),
        (13, 16, 16),
        (250, 256, 1),
    ] {
        let unit_layout = Units::new(Shape::new(1000, bits).unwrap(), 32).unwrap();
        assert_eq!(
            (unit_layout.stored_bits, unit_layout.per_unit),
            (stored, per_unit),
            "{bits} bits"
        );
        assert_eq!(unit_layout.units(), 1000u64.div_ceil(per_unit));
    }

    let error = Units::new(Shape::new(9, 257).unwrap(), 32)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "the record length in bits is 257: expected at most 256, a unit of 32 bytes"
    );
}

#[test]
fn records_are_read_set_and_selected() {
    for bits in [1, 3, 8, 13, 64, 250] {
        let shape = Shape::new(613, bits).unwrap();
        let mut records = RecordBuffer::zeroed(shape);

        let value = |i: u64| {
            let bytes: Vec<u8> = (0..32).map(|k| (i * 31 + k * 7) as u8).collect();
            extract_bits(&bytes, 0, bits)
        };
        (0..613).for_each(|i| records.set(i, &value(i)).unwrap());
        let unit_layout = Units::new(shape, 32).unwrap();

        for index in [0, 1, 300, 611, 612] {
            let (unit, slot) = unit_layout.locate(index);
            let mut bytes = vec![0; 32];
            unit_layout.read(&records, unit, &mut bytes).unwrap();

            assert_eq!(
                unit_layout.select(&bytes, slot),
                value(index),
                "{bits} bits, record {index}"
            );
            unit_layout
                .set(
                    &mut bytes,
                    &Change {
                        index,
                        record: value(index + 1),
                    },
                )
                .unwrap();

            assert_eq!(unit_layout.select(&bytes, slot), value(index + 1));
            if slot > 0 {
                assert_eq!(unit_layout.select(&bytes, slot - 1), value(index - 1));
            }
        }
    }
}

/// A selection that records its erasure.
struct Selection<'a>(&'a Cell<bool>);

impl Zeroize for Selection<'_> {
    fn zeroize(&mut self) {
        self.0.set(true);
    }
}

#[test]
fn a_refused_selection_is_erased() {
    let erased = Cell::new(false);
    assert!(decoded(Selection(&erased), true).is_ok());
    assert!(!erased.get(), "a selection that decodes");

    let refused = decoded(Selection(&erased), false);
    assert!(matches!(refused, Err(Error::NotDecodable)));
    assert!(erased.get(), "a refused selection");
}

#[test]
fn units_give_back_what_was_read_into_them() {
    for bits in [1, 3, 8, 13, 57, 64, 250, 256] {
        let shape = Shape::new(613, bits).unwrap();
        let bytes = (0..shape.total_bytes())
            .map(|i| (i * 151 + i * i / 7) as u8)
            .collect();
        let records = RecordBuffer::from_packed(shape, bytes).unwrap();

        let unit_layout = Units::new(shape, 32).unwrap();
        let decode = |column: usize| {
            let mut bytes = vec![0; 3 * 32 + 5];
            unit_layout
                .read(&records, 3 * column as u64, &mut bytes[..96])
                .unwrap();
            bytes
        };

        for (first, count) in [
            (0, 613),
            (0, 1),
            (8, 77),
            (304, 309),
            (608, 5),
            (16, 0),
            (0, 0),
            (608, 1),
        ] {
            let length = (count * bits).div_ceil(8) as usize;
            // Filled with ones, so that bits that are not written show.
            let mut found = vec![0xFF; length];
            let mut expected = vec![0; length];

            records.read_packed(first, count, &mut expected).unwrap();
            read_columns(&unit_layout, 3, (first, count), &mut found, decode).unwrap();

            assert!(
                found == expected,
                "{bits} bits, {count} records from {first}"
            );
        }

        let read = |range, out: &mut [u8]| {
            read_columns(&unit_layout, 3, range, out, decode)
                .unwrap_err()
                .code()
        };

        assert_eq!(read((608, 6), &mut [0; 300]), "index_out_of_range");
        assert_eq!(
            read((0, 8), &mut vec![0; bits as usize + 1]),
            "wrong_length"
        );
    }
}

#[test]
fn digits_make_the_word() {
    for digits in [
        Digits { bits: 14, count: 2 },
        Digits { bits: 7, count: 4 },
        Digits { bits: 16, count: 2 },
    ] {
        let top = (1u64 << digits.word_bits()) - 1;
        for word in [0, 1, top / 2, top / 2 + 1, top / 3, top - 1, top] {
            let split: Vec<i16> = digits.split_centred(word).collect();
            let half = 1i32 << (digits.bits - 1);
            assert!(
                split
                    .iter()
                    .all(|&digit| (-half..half).contains(&i32::from(digit))),
                "{split:?}"
            );

            let modulo = |digit: &i16| i32::from(*digit).rem_euclid(2 * half) as u32;
            let joined = digits.join(split.iter().map(|digit| digits.uncentred(modulo(digit))));
            assert_eq!(joined, word, "{digits:?}");
        }
    }
}

#[test]
fn digits_stand_for_the_rounded_word() {
    for (bits, count) in [(7, 3), (7, 2), (3, 8), (11, 1), (16, 2), (4, 8), (1, 1)] {
        let digits = Digits { bits, count };
        let half = ((1u64 << digits.dropped_bits()) / 2) as i64;
        for word in [
            0,
            1,
            77,
            (half - 1).max(0) as u32,
            half as u32,
            half as u32 + 1,
            1 << 31,
            0x1234_5678,
            0x7fff_ffff,
            0xffff_ff00,
            u32::MAX - half as u32,
            u32::MAX,
        ] {
            let split: Vec<u64> = digits.split(digits.leading(word)).collect();
            let limit = 1i32 << (bits - 1);
            assert_eq!(split.len(), count);
            assert!(
                split.iter().all(|&digit| digit < 2 * limit as u64),
                "{word:#x}: {split:?}"
            );

            let centred: Vec<i16> = digits.split_centred(digits.leading(word)).collect();
            let in_range = |&digit: &i16| (-limit..limit).contains(&i32::from(digit));
            assert!(centred.iter().all(in_range), "{centred:?}");

            let modulo = |digit: &i16| i32::from(*digit).rem_euclid(2 * limit) as u32;
            let uncentred = centred.iter().map(|digit| digits.uncentred(modulo(digit)));
            let joined = digits.join_leading(uncentred);
            assert_eq!(joined, digits.join_leading(split.into_iter()));

            let error = i64::from(word.wrapping_sub(joined) as i32);
            assert!(
                (-half..=half).contains(&error),
                "{word:#x} in {digits:?}: off by {error}"
            );
        }
    }
}
