//! Units, records and columns of the matrix.

use papir_core::{NoProgress, RecordBuffer, Shape, extract_bits};

use crate::double::params::{layout_of, units_of};

#[test]
fn units_hold_what_fits_the_bytes_of_a_record() {
    for (bits, records, bytes) in [
        (1, 8, 1),
        (3, 2, 1),
        (4, 2, 1),
        (5, 1, 1),
        (8, 1, 1),
        (9, 1, 2),
        (17, 1, 3),
        (64, 1, 8),
    ] {
        let layout = layout_of(&Shape::new(100, bits).unwrap(), 5).unwrap();

        assert_eq!(
            (layout.unit_layout.per_unit, layout.unit_layout.unit_bytes),
            (records, bytes),
            "{bits} bits"
        );
        assert_eq!(
            layout.columns as u64,
            100u64.div_ceil(5 * records),
            "{bits} bits"
        );
    }
}

#[test]
fn places_are_distinct_and_columns_are_runs() {
    let layout = layout_of(&Shape::new(1000, 3).unwrap(), 7).unwrap();
    for index in 0..1000 {
        let place = layout.place(index);
        assert_eq!((place.column * 7 + place.unit) * 2 + place.slot, index);
    }
}

#[test]
fn units_and_their_records_are_the_packed_ones() {
    for bits in [1, 3, 5, 8, 13, 40, 57, 63, 64] {
        let shape = Shape::new(97, bits).unwrap();
        let layout = layout_of(&shape, 50.min(units_of(&shape).unwrap().units())).unwrap();
        let bytes = (0..shape.total_bytes())
            .map(|i| (i * 151 + i * i) as u8)
            .collect();
        let records = RecordBuffer::from_packed(shape, bytes).unwrap();
        let matrix = layout.encode(&records, &NoProgress).unwrap();

        let unit_at = |index| {
            let place = layout.place(index);
            let bytes = layout.unit_layout.unit_bytes;
            let column = matrix.column(place.column as usize);
            (
                column[place.unit as usize * bytes..][..bytes].to_vec(),
                place.slot,
            )
        };

        for index in 0..97 {
            let (unit, slot) = unit_at(index);
            let expected = extract_bits(records.packed(), index * bits, bits);
            assert_eq!(
                layout.unit_layout.select(&unit, slot),
                expected,
                "{bits}: {index}"
            );
        }

        let mut changed = vec![u8::MAX; layout.unit_layout.unit_bytes];
        let five = extract_bits(&5u64.to_le_bytes(), 0, bits);
        let last = layout.unit_layout.per_unit - 1;
        layout
            .unit_layout
            .set_slot(&mut changed, last, &five)
            .unwrap();
        assert_eq!(layout.unit_layout.select(&changed, last), five);

        let zeros = |bytes: &[u8]| {
            bytes
                .iter()
                .map(|byte| u64::from(byte.count_zeros()))
                .sum::<u64>()
        };
        let ones = 8 * five.len() as u64 - zeros(&five);
        assert_eq!(zeros(&changed), bits.saturating_sub(ones));
    }
}

#[test]
fn layouts_that_do_not_fit_are_refused() {
    let shape = Shape::of_bytes(1 << 24, 1).unwrap();
    assert!(layout_of(&shape, 0).is_err() && layout_of(&shape, 63).is_err());
    assert!(layout_of(&shape, (1 << 18) + 1).is_err());
    assert!(layout_of(&shape, 64).is_ok() && layout_of(&shape, 1 << 18).is_ok());
    assert!(layout_of(&Shape::new(3, 8).unwrap(), 4).is_err());

    let error = layout_of(&Shape::new(9, 65).unwrap(), 1)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "the record length in bits is 65: expected at most 64"
    );
}
