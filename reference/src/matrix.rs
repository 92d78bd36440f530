//! Matrix × vector by definition, exact in 128 bits.

/// The product of a matrix with entries `matrix(row, column)` and a vector.
///
/// A kernel modulo 2^k must agree with it modulo 2^k.
pub fn times_vector(
    rows: usize,
    matrix: impl Fn(usize, usize) -> i64,
    vector: &[i64],
) -> Vec<i128> {
    let mut product = vec![0; rows];
    for (row, sum) in product.iter_mut().enumerate() {
        for (column, &value) in vector.iter().enumerate() {
            *sum += i128::from(matrix(row, column)) * i128::from(value);
        }
    }
    product
}

/// The number with these balanced digits in base 2^`bits`, the lowest first.
pub fn from_digits(digits: &[i64], bits: u32) -> i64 {
    let mut value = 0;
    for &digit in digits.iter().rev() {
        value = (value << bits) + digit;
    }
    value
}

/// Packs the little-endian bits of values of `width` bits, one after another, into bytes.
pub fn packed_bits(values: &[u64], width: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let bits = values
        .iter()
        .flat_map(|v| (0..width).map(move |b| v >> b & 1));
    for (position, bit) in bits.enumerate() {
        if position % 8 == 0 {
            bytes.push(0);
        }
        bytes[position / 8] |= (bit as u8) << (position % 8);
    }
    bytes
}
