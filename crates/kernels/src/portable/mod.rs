//! Definitions of the kernels, for every CPU: plain Rust except for the [`lanes`] of a register.

pub(crate) mod baseline;
pub(crate) mod bigint_mod;
pub(crate) mod bigint_rows;
pub(crate) mod bits;
pub(crate) mod gadget;
pub(crate) mod galois;
pub(crate) mod lanes;
pub(crate) mod mat32;
pub(crate) mod matvec_i16;
pub(crate) mod matvec_i32;
pub(crate) mod matvec_u4;
pub(crate) mod matvec_u8;
pub(crate) mod monomial;
pub(crate) mod ntt;
pub(crate) mod peak;
pub(crate) mod pointwise;
pub(crate) mod poly_eval;
pub(crate) mod small_prime;
pub(crate) mod wide;
pub(crate) mod wide_gadget;
pub(crate) mod wide_ntt;
pub(crate) mod wide_packed;
