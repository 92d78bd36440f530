//! InspiRING (InsPIRe, Algorithm 1): d LWE encryptions into one RLWE encryption with two keys.
//!
//! The masks of the LWE encryptions and of both keys are public and fixed, so the server does
//! almost everything ahead. With τ_e: X → X^e, g = 5 and h = 2d − 1:
//!
//! | Algorithm 1 | here |
//! |---|---|
//! | TRANSFORM, and the sum over k in PACK | [`aggregate`]: all τ_e(C_{1/e}), C_f = Σ_k X^{kf}·ãₖ, by one monomial FFT: O(d² log d) additions |
//! | COLLAPSEHALF twice, COLLAPSEONE | [`collapse`]: digits of every step, the final mask |
//! | the same, on the bodies y of K_g | [`matrix`]: one integer matrix, by one monomial FFT a digit |
//! | the online rest | [`online`]: b + M·y_g + digits·y_h |
//!
//! The online part is linear in y_g. Step j of the collapse adds Σᵢ Dᵢ,ₑ·τ_e(yᵢ) with e = ±5^(j−1),
//! and τ_e(y) = Σ_c y\[c\]·X^{ce}; so y\[c\] meets the column Σ_e X^{ce}·Dᵢ,ₑ, whatever the client.
//! All columns together are a d × ℓd matrix with entries below 2^31, applied as integers to the
//! centred residues of y.

pub mod aggregate;
pub mod collapse;
pub mod keys;
pub mod matrix;
pub mod online;

pub use aggregate::LweMasks;
pub use collapse::{Preprocessed, Preprocessor};
pub use keys::{PackingKey, PackingMasks};
pub use matrix::{MatrixError, matrix_words};
pub use online::{OnlineKey, pack};

/// g: generates the odd numbers modulo 2d up to sign.
pub const GENERATOR: usize = 5;

/// 1/e modulo 2d for odd e, d a power of two.
pub(crate) fn inverse_exponent(e: usize, degree: usize) -> usize {
    // Newton's iteration doubles the correct low bits: 3, 6, 12, 24, 48.
    let inverse = (0..4).fold(e, |x, _| x.wrapping_mul(2usize.wrapping_sub(e.wrapping_mul(x))));
    inverse & (2 * degree - 1)
}

/// The low log₂ d bits of `k` in reverse order.
pub(crate) fn bit_reverse(k: usize, degree: usize) -> usize {
    k.reverse_bits() >> (usize::BITS - degree.trailing_zeros())
}
