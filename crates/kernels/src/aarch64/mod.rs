//! Kernels for aarch64, and lanes of NEON, which every such CPU has.
//!
//! The backend `neon` is for CPUs with the dot products of Armv8.2 (`dotprod`). Kernels that are
//! not here are the portable ones, which run on NEON's lanes or are vectorised by LLVM.

pub(crate) mod dot;
pub(crate) mod mat32;
pub(crate) mod matvec_i16;
pub(crate) mod matvec_i32;
pub(crate) mod matvec_u4;
pub(crate) mod matvec_u8;
pub(crate) mod neon;

pub(crate) use crate::portable::{galois, ntt, peak, poly_eval, wide, wide_ntt, wide_packed};
