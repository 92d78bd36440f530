//! Galois automorphisms X → X^e of Z_q\[X\]/(X^d + 1), e odd.
//!
//! In NTT form they permute the slots; in coefficient form they permute the coefficients and change
//! some signs.

use crate::backend::Backend;
use crate::dispatch::same_length;
use crate::modulus::Modulus;
use crate::ntt::table::bit_reverse;

/// The permutation of X → X^e on the bit-reversed NTT form of degree d:
/// `out[k] = a[permutation[k]]`. e is reduced modulo 2d.
///
/// Slot k of a(X^e) holds a(ψ^(e·(2·brv(k)+1))), so its source is the slot of that exponent.
pub fn permutation(d: usize, e: usize) -> Vec<u32> {
    check(d, e);
    let bits = d.ilog2();
    (0..d)
        .map(|k| {
            // Half of the odd exponent (2b + 1)·e, as 2d may not fit: ((2b + 1)·e − 1)/2 is b·e +
            // (e − 1)/2, and a sum that wraps keeps its residue modulo d, a power of two.
            let exponent = bit_reverse(k, bits).wrapping_mul(e).wrapping_add(e / 2);
            bit_reverse(exponent & (d - 1), bits) as u32
        })
        .collect()
}

/// Panics unless d is a power of two up to 2³¹ and e is odd.
fn check(d: usize, e: usize) {
    assert!(
        d >= 2 && d.is_power_of_two() && d <= 1 << 31,
        "a power of two from 2 to 2^31, not {d}"
    );
    assert!(e % 2 == 1, "an odd exponent, not {e}");
}

/// `out[k] = a[permutation[k]]`; panics if an index is out of range.
pub fn permute(backend: Backend, out: &mut [u32], a: &[u32], permutation: &[u32]) {
    same_length([out.len(), a.len(), permutation.len()]);
    dispatch!(backend, galois::permute(out, a, permutation));
}

/// out(X) = a(X^e) on coefficients below q, for e odd, reduced modulo 2d.
pub fn automorphism(out: &mut [u32], a: &[u32], e: usize, modulus: Modulus) {
    same_length([out.len(), a.len()]);
    let d = a.len();
    check(d, e);
    // 2d is a power of two, so a product that wraps keeps its residue modulo 2d. It fits: slices
    // have at most `isize::MAX` bytes, so d is at most an eighth of `usize::MAX`.
    let exponents = (0..d).map(|k| k.wrapping_mul(e) & (2 * d - 1));
    for (&coefficient, exponent) in a.iter().zip(exponents) {
        // X^d = −1: exponents from d on change the sign.
        let negative = modulus.sub(0, coefficient);
        let image = [coefficient, negative][exponent / d];
        out[exponent & (d - 1)] = image;
    }
}
