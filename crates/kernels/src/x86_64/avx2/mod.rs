//! Kernels for CPUs with AVX2, FMA and BMI2.

pub(crate) mod galois;
mod lanes;
pub(crate) mod mat32;
pub(crate) mod ntt;
pub(crate) mod rows16;
pub(crate) mod rows8;
pub(crate) mod simplex;
