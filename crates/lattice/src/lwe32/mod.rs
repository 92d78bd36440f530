//! LWE encryption of selectors modulo 2³², and products of byte matrices.
//!
//! SimplePIR and both levels of DoublePIR multiply byte matrices by masks and by ciphertexts. The
//! public matrix A has a negacyclic block of n rows for each n columns of a database: block i comes
//! from one ring element aᵢ of `Z_q[X]/(Xⁿ + 1)`, and its row c satisfies ⟨A\[i·n + c\], s⟩ =
//! (aᵢ·s)\[c\]. One ring product therefore gives n encryptions, with the security of RLWE, which is
//! estimated as that of LWE. A row of D·A is the coefficient vector of Σᵢ Dᵢ(X)·aᵢ(X⁻¹), where Dᵢ
//! holds the row's words in block i.
//!
//! [`LweParams::binary`] uses a module instead: blocks of d rows with `rank` ring elements of
//! degree d each, n = rank·d, so n need not be a power of two.
//!
//! | contents | module |
//! |---|---|
//! | n, q, σ, tables | [`params`] |
//! | aᵢ, rows of A, products of byte rows with A | [`masks`] |
//! | encryption of a selector | [`encrypt`] |
//! | D in row groups, online products D·b | [`matrix`] |
//! | words modulo q: inner products, rounding, decoding | [`words`] |
//!
//! # Exact products
//!
//! q has no suitable roots of unity. Products are computed over the integers, modulo two primes of
//! 28 bits, and then reduced modulo q. A factor is *small* if its coefficients are at most
//! [`MAX_SMALL`] in absolute value (bytes, secrets); the other factor is a mask, at most q/2 in
//! absolute value when centred. A product's coefficients are then below n·255·2³¹ < 2⁴⁹, and the
//! sum of [`MAX_BLOCKS`] products stays below half the product of both primes.

pub mod encrypt;
pub mod masks;
pub mod matrix;
pub mod params;
pub mod words;

pub use encrypt::UnitVector;
pub use masks::{MaskProducts, Masks};
pub use matrix::{ByteMatrix, matrix_bytes, write_columns};
pub use params::{
    LOG2_Q, LweParams, MAX_BLOCKS, MAX_SMALL, MODULE_DEGREE, MODULE_RANK, MODULE_SIGMA, N, SIGMA,
};
pub use words::{add_multiple, decode, dot, round, rounding_square};
