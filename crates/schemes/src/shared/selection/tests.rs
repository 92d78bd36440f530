//! The choice of message bits.
#![allow(clippy::unwrap_used)]

use papir_lattice::response::ResponseBits;

use super::{CdksFamily, Selection, SelectionBits};

/// Words of 7 bits, 3072 rows, of 2¹⁵ columns.
fn example(capacity: usize) -> Selection {
    let squares = 32768.0 * 64.0 * 64.0;
    Selection { columns: 1 << 15, plain_bits: 7, squares, capacity, rows: 3072, singles: 2 }
}

#[test]
fn chosen_bits_decode_and_fewer_do_not() {
    let selection = example(2048);
    let bits = selection.choose::<CdksFamily>().unwrap();
    assert!(selection.bound::<CdksFamily>(&bits).unwrap() < 1 << (bits.answer.a - 8));
    let answer = |a, b| SelectionBits { answer: ResponseBits { a, b }, ..bits };
    let fewer = [
        SelectionBits { query: bits.query - 1, ..bits },
        SelectionBits { key: bits.key - 1, ..bits },
        answer(bits.answer.a - 1, bits.answer.b),
        answer(bits.answer.a, bits.answer.b - 1),
    ];
    for bits in fewer {
        assert_eq!(selection.bound::<CdksFamily>(&bits), None, "{bits:?}");
    }
}

/// Against every combination, for one gadget.
#[test]
fn few_bytes_are_the_fewest_or_nearly() {
    let selection = example(2048);
    let found = selection.choose::<CdksFamily>().unwrap();
    let mut fewest = usize::MAX;
    for (query, key, a) in (15..30)
        .flat_map(|query| (35..56).map(move |key| (query, key)))
        .flat_map(|(query, key)| (12..28).map(move |a| (query, key, a)))
    {
        let with = |b| SelectionBits { query, key, answer: ResponseBits { a, b }, ..found };
        let decodes = |bits: &SelectionBits| selection.bound::<CdksFamily>(bits).is_some();
        if let Some(bits) = (6..=a).map(with).find(decodes) {
            fewest = fewest.min(selection.message_bits::<CdksFamily>(&bits));
        }
    }
    let found = selection.message_bits::<CdksFamily>(&found);
    assert!(found <= fewest + fewest / 50, "{found} bits, {fewest} would do");
}

#[test]
fn too_many_columns_have_no_bits() {
    let selection = Selection { squares: 2f64.powi(100), ..example(2048) };
    assert_eq!(selection.choose::<CdksFamily>(), None);
}
