//! What every kernel means, in plain Rust that runs everywhere.

pub(crate) mod bits;
pub(crate) mod gadget;
pub(crate) mod galois;
mod lanes;
pub(crate) mod mat32;
pub(crate) mod monomial;
pub(crate) mod ntt;
pub(crate) mod pointwise;
pub(crate) mod rows16;
pub(crate) mod rows8;
