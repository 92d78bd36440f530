//! Exponents of the automorphisms and their order.

/// g of Algorithm 1, which generates the odd numbers modulo 2d up to sign.
pub const GENERATOR: usize = 5;

/// Returns 1/e modulo 2d for odd e, d a power of two.
pub(crate) fn inverse_exponent(e: usize, degree: usize) -> usize {
    // Newton's iteration doubles the number of correct low bits: 3, 6, 12, 24, 48.
    let inverse = (0..4).fold(e, |x, _| {
        x.wrapping_mul(2usize.wrapping_sub(e.wrapping_mul(x)))
    });
    inverse & (2 * degree - 1)
}

/// Returns the low log₂ n bits of `k` in reverse order; n is at least 2.
pub(crate) fn bit_reverse(k: usize, n: usize) -> usize {
    k.reverse_bits() >> (usize::BITS - n.trailing_zeros())
}

/// Returns the index j of the exponent e = 1 + j·2d/n among n.
pub(crate) fn exponent_index(e: usize, degree: usize, n: usize) -> usize {
    e / (2 * degree / n)
}
