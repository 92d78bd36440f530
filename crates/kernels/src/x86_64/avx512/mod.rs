//! Kernels for CPUs with AVX-512 F, BW, DQ, VL, VNNI, IFMA and VBMI.

pub(crate) mod galois;
mod lanes;
pub(crate) mod mat32;
pub(crate) mod ntt;
pub(crate) mod rows16;
pub(crate) mod rows8;
pub(crate) mod simplex;
mod transpose;
pub(crate) mod wide;
