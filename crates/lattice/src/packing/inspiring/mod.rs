//! InspiRING packing with two keys or one (InsPIRe, Algorithms 1 and 2).
//!
//! The masks of the LWE encryptions and of the keys are public and fixed, so the server does almost
//! all work offline. Algorithm 1 packs n = d encryptions by the automorphisms τ_e: X → X^e of all
//! odd e = ±5^j. Algorithm 2 packs n = γ encryptions by those with e ≡ 1 modulo 2d/γ, the powers of
//! g = 2d/γ + 1. In both cases the exponents are 1 + j·2d/n for j < n, and X^(2d/n) is an n-th root
//! of unity:
//!
//! | Algorithms 1 and 2 | module |
//! |---|---|
//! | TRANSFORM, TRANSFORMPARTIAL, line 2 | [`LweMasks`] |
//! | TRANSFORM, and the sum over k in PACK | [`aggregate`]: all τ_e(C_{1/e}), by a monomial FFT |
//! | COLLAPSEHALF twice, or COLLAPSEPARTIAL | [`collapse`]: digits of every step, the final mask |
//! | the same, on the bodies y of K_g | [`matrix`]: one integer matrix, by an FFT for each digit |
//! | COLLAPSEONE with K_h (Algorithm 1 only) | [`collapse`], and online ℓ ring products |
//! | the remaining online work | [`online`]: b + M·y_g + digits·y_h |
//!
//! C_f is Σ_k X^{kf}·ãₖ. One monomial FFT computes all of them in O(nd log n) additions.
//!
//! The online part is linear in y_g. A step of the collapse adds Σᵢ Dᵢ,ₑ·τ_e(yᵢ), and τ_e(y) = Σ_c
//! y\[c\]·X^{ce}. So y\[c\] multiplies the column Σ_e X^{ce}·Dᵢ,ₑ, which is the same for all
//! clients. The columns form an n × ℓd matrix (only the first n rows are needed) with entries below
//! 2^31, applied to the words of y as they are sent: modulo 2^k. A partial pack stores only its n =
//! γ rows, γ/d of the size of a full pack, and 64/γ packs of fewer than 64 rows share a row group.

pub mod aggregate;
pub mod collapse;
pub mod either;
pub mod exponents;
pub mod full;
pub mod matrix;
pub mod online;
pub mod partial;

pub use super::lwe_masks::LweMasks;
pub use super::ring_packing::Preprocessed;
pub use either::EitherInspiring;
pub use exponents::GENERATOR;
pub use full::Inspiring;
pub use matrix::{matrix_words, unit_words};
pub use online::{OnlineKey, multiply};
pub use partial::PartialInspiring;
