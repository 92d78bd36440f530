//! Products by powers of X in Z\[X\]/(X^d + 1), and Fourier transforms over them.
//!
//! X has order 2d, so X^(2d/n) is an n-th root of unity. A product by a power of X is a rotation
//! with a change of sign, so the transform of n polynomials needs no multiplications. The `_i32`
//! kernels wrap at 32 bits; the `_mod` kernels work on residues below q < 2³⁰.

use crate::dispatch::same_length;
use crate::modulus::Modulus;

/// Panics unless all slices have d words and the shift is below 2d.
fn check<const N: usize>(lengths: [usize; N], shift: usize) {
    same_length(lengths);
    assert!(
        shift < 2 * lengths[0],
        "the shift must be below {}, not {shift}",
        2 * lengths[0]
    );
}

/// Panics unless there are n polynomials of d words, n and d are powers of two, and n ≤ 2d.
fn check_transform(words: usize, d: usize, scratch: usize) {
    assert!(
        d.is_power_of_two() && words.is_multiple_of(d),
        "polynomials of {d} words, not {words} words"
    );
    let n = words / d;
    // X has order 2d, so there are no roots of unity of a higher order.
    assert!(
        n.is_power_of_two() && n <= 2 * d,
        "a power of two up to {} polynomials, not {n}",
        2 * d
    );
    assert_eq!(scratch, d, "words of scratch");
}

kernel! {
    /// out = a·X^shift, for a shift below 2d.
    pub fn rotate_i32(out: &mut [i32], a: &[i32], shift: usize)
    checks { check([out.len(), a.len()], shift) }
    in monomial;
}

kernel! {
    /// out = a·X^shift modulo q, for a shift below 2d.
    pub fn rotate_mod(out: &mut [u32], a: &[u32], shift: usize, modulus: Modulus)
    checks { check([out.len(), a.len()], shift) }
    in monomial;
}

kernel! {
    /// (u, v) ← (u + v, (u − v)·X^shift), for a shift below 2d; `scratch` has d words.
    pub fn butterfly_i32(u: &mut [i32], v: &mut [i32], shift: usize, scratch: &mut [i32])
    checks { check([u.len(), v.len(), scratch.len()], shift) }
    in monomial;
}

kernel! {
    /// (u, v) ← (u + v, (u − v)·X^shift) modulo q, for a shift below 2d; `scratch` has d words.
    pub fn butterfly_mod(
        u: &mut [u32], v: &mut [u32], shift: usize, modulus: Modulus, scratch: &mut [u32],
    )
    checks { check([u.len(), v.len(), scratch.len()], shift) }
    in monomial;
}

kernel! {
    /// The transform F(c) = Σ_f polys\[f\]·X^(2d/n·c·f) of n polynomials of d words, in place.
    ///
    /// n and d are powers of two and n ≤ 2d; for n = d the root is X². Polynomial k of the result
    /// is F(brv(k)), where brv reverses log₂ n bits (decimation in frequency). `scratch` has d
    /// words.
    pub fn dft_i32(polys: &mut [i32], d: usize, scratch: &mut [i32])
    checks { check_transform(polys.len(), d, scratch.len()) }
    in monomial;
}

kernel! {
    /// [`dft_i32`] on residues modulo q.
    pub fn dft_mod(polys: &mut [u32], d: usize, modulus: Modulus, scratch: &mut [u32])
    checks { check_transform(polys.len(), d, scratch.len()) }
    in monomial;
}
