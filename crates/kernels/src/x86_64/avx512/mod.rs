//! Kernels for CPUs with AVX-512 F, BW, DQ, VL, VNNI, IFMA and VBMI.

pub(crate) mod bigint_mod;
pub(crate) mod galois;
mod lanes;
pub(crate) mod mat32;
pub(crate) mod matvec_i16;
pub(crate) mod matvec_i32;
pub(crate) mod matvec_u4;
pub(crate) mod matvec_u8;
pub(crate) mod ntt;
pub(crate) mod peak;
pub(crate) mod poly_eval;
mod transpose;
pub(crate) mod wide;
mod wide_lanes;
pub(crate) mod wide_ntt;
pub(crate) mod wide_packed;
