//! Packing of values into bytes: every backend against the definition.

use papir_kernels::Backend;
use papir_kernels::bits::{self, BitsError};
use papir_reference::matrix;

fn values(count: usize, width: u32) -> Vec<u64> {
    let mixed = (1..=count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i << 50);
    mixed.map(|n| n >> (64 - width)).collect()
}

#[test]
fn every_width_packs_by_definition_and_unpacks() {
    for backend in Backend::available() {
        for width in 1..=64 {
            for count in [0, 1, 2, 7, 8, 63, 64, 65, 129] {
                let values = values(count, width);
                let mut packed = vec![1];
                let mut back = vec![1];
                bits::pack(backend, &values, width, &mut packed);
                assert_eq!(
                    packed,
                    matrix::packed_bits(&values, width),
                    "{backend} {width} {count}"
                );
                assert_eq!(packed.len(), bits::packed_len(count, width));
                let unpacked = bits::unpack(backend, &packed, width, count, &mut back);
                assert_eq!(
                    (unpacked, back),
                    (Ok(()), values),
                    "{backend} {width} {count}"
                );
            }
        }
    }
}

#[test]
fn higher_bits_are_dropped() {
    let mut packed = Vec::new();
    bits::pack(Backend::current(), &[u64::MAX, 0, u64::MAX], 3, &mut packed);
    assert_eq!(packed, [0b1100_0111, 0b1]);
}

#[test]
fn a_wrong_length_is_an_error() {
    let mut out = vec![9];
    for found in [3, 5] {
        let error = bits::unpack(Backend::current(), &vec![0; found], 13, 2, &mut out);
        assert_eq!(error, Err(BitsError::Length { found, expected: 4 }));
    }
    assert_eq!(out, [9], "an error leaves the output as it was");
}

#[test]
fn nonzero_padding_is_an_error() {
    let error = bits::unpack(Backend::current(), &[0, 0, 0, 0x50], 13, 2, &mut Vec::new());
    let expected = BitsError::Padding {
        found: 0x14,
        bits: 6,
    };
    assert_eq!(error, Err(expected));
    assert_eq!(
        expected.to_string(),
        "the 6 bits after the last value are 0x14, expected 0"
    );
}

#[test]
fn an_excessive_count_is_an_error_without_allocation() {
    let error = bits::unpack(Backend::current(), &[0; 8], 64, usize::MAX, &mut Vec::new());
    let expected = usize::MAX;
    assert_eq!(error, Err(BitsError::Length { found: 8, expected }));
}
