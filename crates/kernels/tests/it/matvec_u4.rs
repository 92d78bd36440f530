//! Matrix of 4-bit words × query: every backend against the definition.

use papir_kernels::{Backend, matvec_u4};

use crate::byte_product::ByteProduct;

const PRODUCT: ByteProduct = ByteProduct {
    rows: 128,
    word: |row, byte| if row < 64 { byte & 15 } else { byte >> 4 },
    pass: matvec_u4::pass,
    pass_many: matvec_u4::pass_many,
};

#[test]
fn pass_is_the_product_for_every_shape() {
    PRODUCT.check_widths(&[1, 2, 3, 7, 8, 9, 31, 32, 33, 64, 65, 130]);
}

#[test]
fn extreme_words_and_digits_do_not_overflow() {
    for (byte, digit) in [(0xff, -128), (0xff, 127), (0xf0, -128), (0x0f, -128)] {
        PRODUCT.check_extremes(byte, digit);
    }
}

#[test]
fn no_quads_or_no_groups_add_nothing() {
    for backend in Backend::available() {
        let mut out = [5; 128];
        matvec_u4::pass(backend, &[], 0, &[], 4, &mut out);
        assert_eq!(out, [5; 128]);
        matvec_u4::pass(backend, &[], 3, &[1; 48], 4, &mut []);
    }
}

#[test]
fn pass_many_equals_single_passes() {
    PRODUCT.check_many(3);
}

#[test]
#[should_panic(expected = "bytes of the tiles")]
fn a_tile_of_the_wrong_length_panics() {
    matvec_u4::pass(Backend::current(), &[0; 255], 1, &[0; 4], 1, &mut [0; 128]);
}
