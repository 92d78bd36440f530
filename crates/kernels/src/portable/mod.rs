//! What every kernel means: code that runs everywhere, in plain Rust but for the
//! [`lanes`] that stand for a register.

pub(crate) mod bits;
pub(crate) mod gadget;
pub(crate) mod galois;
pub(crate) mod lanes;
pub(crate) mod mat32;
pub(crate) mod monomial;
pub(crate) mod ntt;
pub(crate) mod pointwise;
pub(crate) mod rows16;
pub(crate) mod rows8;
pub(crate) mod simplex;
pub(crate) mod wide;
