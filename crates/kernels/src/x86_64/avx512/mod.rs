//! Kernels for CPUs with AVX-512 F, BW, DQ, VL, VNNI, IFMA and VBMI.

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
