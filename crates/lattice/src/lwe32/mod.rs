//! LWE encryption of a selector at modulus q = 2³² under negacyclic masks, and products of bytes with
//! masks and ciphertexts: what SimplePIR and both levels of DoublePIR do.
//!
//! The public matrix A has a block of n rows for each n columns of a database: block i comes from one
//! ring element aᵢ of `Z_q[X]/(Xⁿ + 1)`, and its row c is the one with ⟨A\[i·n + c\], s⟩ = (aᵢ·s)\[c\]. So n
//! encryptions cost one ring product, their security is that of RLWE, which is estimated as LWE, and a
//! row of D·A is the coefficient vector of Σᵢ Dᵢ(X)·aᵢ(X⁻¹), where Dᵢ holds the row's words in block i.
//! [`LweParams::binary`] takes a module instead: blocks of d rows, each with as many ring elements of degree
//! d as its rank says, n = rank·d; so n need not be a power of two.
//!
//! | what | here |
//! |---|---|
//! | n, q, σ, the tables | [`params`] |
//! | aᵢ, rows of A, products of rows of bytes with A | [`masks`] |
//! | encryption of a selector | [`encrypt`] |
//! | D in row groups, and D·b online | [`matrix`] |
//! | words modulo q: inner products, rounding, decoding | [`words`] |
//!
//! # Exact products
//!
//! q has no roots of unity. Products are computed over the integers, modulo two primes of 28 bits, and
//! then reduced modulo q. A factor is *small* when its coefficients are at most [`MAX_SMALL`] in absolute
//! value (bytes, secrets); the other is a mask, at most q/2 when centred. A product's coefficients are then
//! below n·255·2³¹ < 2⁴⁹, and the sum of [`MAX_BLOCKS`] products is below half the product of both primes.

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
pub use words::{add_multiple, decode, dot, round};
