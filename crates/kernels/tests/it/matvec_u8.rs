//! Matrix of 8-bit words × query: every backend against the definition.

use papir_kernels::{Backend, matvec_u8};
use papir_reference::matrix;
use proptest::prelude::*;

use crate::byte_product::ByteProduct;
use crate::common::bytes;

const PRODUCT: ByteProduct = ByteProduct {
    rows: 64,
    word: |_, byte| byte,
    pass: matvec_u8::pass,
    pass_many: matvec_u8::pass_many,
};

#[test]
fn pass_is_the_product_for_every_shape() {
    PRODUCT.check_widths(&[1, 2, 3, 31, 32, 33, 63, 64, 65, 130]);
}

#[test]
fn extreme_words_and_digits_do_not_overflow() {
    for (byte, digit) in [(255, -128), (255, 127), (0, -128)] {
        PRODUCT.check_extremes(byte, digit);
    }
}

#[test]
fn no_quads_or_no_groups_add_nothing() {
    for backend in Backend::available() {
        let mut out = [5; 64];
        matvec_u8::accumulate(backend, &[], &[], 4, &mut out);
        assert_eq!(out, [5; 64]);
        matvec_u8::pass(backend, &[], 3, &[1; 48], 4, &mut []);
    }
}

#[test]
fn pass_many_equals_single_passes() {
    PRODUCT.check_many(4);
}

#[test]
#[should_panic(expected = "bytes of the tiles")]
fn a_tile_of_the_wrong_length_panics() {
    matvec_u8::pass(Backend::current(), &[0; 255], 1, &[0; 4], 1, &mut [0; 64]);
}

#[test]
fn scattered_columns_are_gathered_back() {
    let groups = 2;
    let quads = 150;
    let columns: Vec<Vec<u8>> = (0..4 * quads)
        .map(|c| bytes(64 * groups, 500 * c as u64))
        .collect();
    let mut tiles = vec![0; groups * quads * 256];
    for (c, column) in columns.iter().enumerate() {
        matvec_u8::scatter_column(&mut tiles, groups, quads, c, column);
    }
    let mut by_quads = vec![0; tiles.len()];
    for (k, quad) in columns.chunks(4).enumerate() {
        matvec_u8::scatter_quad(
            &mut by_quads,
            groups,
            quads,
            k,
            [&quad[0], &quad[1], &quad[2], &quad[3]],
        );
    }
    assert_eq!(tiles, by_quads);
    let mut found = vec![0; 64 * groups];
    for (c, column) in columns.iter().enumerate() {
        matvec_u8::gather_column(&tiles, groups, quads, c, &mut found);
        assert_eq!(&found, column, "column {c}");
    }
    for (g, tile) in tiles.chunks(quads * 256).enumerate() {
        for (l, k, h) in [(0, 0, 0), (63, 20, 3), (17, 5, 2), (1, 1, 1)] {
            assert_eq!(tile[(k * 64 + l) * 4 + h], columns[4 * k + h][g * 64 + l]);
        }
        for (first, count) in [
            (0, 600),
            (0, 256),
            (3, 1),
            (2, 515),
            (149, 4),
            (150, 0),
            (4, 15),
        ] {
            let mut rows = vec![0; 64 * count];
            matvec_u8::gather_rows(tile, first, count, &mut rows);
            let mut row = vec![0; count];
            for l in 0..64 {
                matvec_u8::gather_row_block(tile, l, first, &mut row);
                let expected: Vec<u8> = (0..count)
                    .map(|c| columns[4 * first + c][g * 64 + l])
                    .collect();
                assert_eq!(row, expected);
                assert_eq!(rows[l * count..][..count], expected, "{first} {count}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "the tile has 2")]
fn columns_outside_the_tile_panic() {
    matvec_u8::gather_row_block(&[0; 512], 0, 1, &mut [0; 5]);
}

proptest! {
    #[test]
    fn planes_represent_the_values(
        values in proptest::collection::vec(any::<u32>(), 0..20),
        bits in 1u32..=32,
    ) {
        for plane_count in matvec_u8::planes_for_bits(bits)..=4 {
            let mut planes = vec![77];
            matvec_u8::pack_planes(&values, bits, plane_count, &mut planes);
            prop_assert_eq!(planes.len(), values.len().div_ceil(4) * 4 * plane_count);
            for c in 0..values.len().next_multiple_of(4) {
                let value = values.get(c).copied().unwrap_or(0);
                let digit = |p| i64::from(planes[(c / 4 * plane_count + p) * 4 + c % 4]);
                let digits: Vec<i64> = (0..plane_count).map(digit).collect();
                let found = matrix::from_digits(&digits, 8);
                prop_assert_eq!((found as u32).wrapping_sub(value) << (32 - bits), 0);
                if bits < 8 * plane_count as u32 {
                    prop_assert!((-(1i64 << (bits - 1))..1 << (bits - 1)).contains(&found));
                }
            }
        }
    }
}
