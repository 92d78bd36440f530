//! Products of matrices and vectors on NVIDIA GPUs.
//!
//! [`Cuda`] is a [`Device`](papir_core::device::Device). CUDA's driver and NVRTC, which compiles
//! the kernels for the GPU in the machine, are found at run time. A build needs neither;
//! [`Cuda::open`] names the one that is missing.
//!
//! # Layout
//!
//! Tensor cores multiply 16 rows × 32 columns of signed bytes with 32 × 8. A matrix lies in the
//! device's memory in that order: for each 16 rows, for each 32 columns, for each byte of a word,
//! the 512 bytes that one instruction takes from the 32 lanes of a warp. A lane reads its 16 bytes
//! at once, and a warp reads the matrix front to back.
//!
//! # Arithmetic
//!
//! A word is Σ 256ʲ·Dⱼ. Every byte but the top one of signed words is stored minus 128, and the
//! product with the constant that this leaves, 128·Σ 256ʲ times the sum of the vector, is added in
//! the end. A value x of the vector is Σ 256ᵖ·xₚ with balanced digits xₚ modulo 2^bits. The right
//! side of the product has a column for each weight w = j + p below bits/8, and its 32-bit sums are
//! exact for up to 131,040 columns. They are added to 64-bit sums that wrap, as on the CPU.
//!
//! # Packs
//!
//! For InsPIRe, what follows the products stays on the GPU as well (`polynomials`): a block of
//! threads finishes one pack of one query, and a block evaluates one polynomial by Horner's rule,
//! with its transforms in shared memory. Residues are reduced after every step, so they are the
//! CPU's.

mod check;
mod device;
mod gpu;
mod matrix;
mod polynomials;
mod program;
mod ring;
mod spread;
mod workspace;

pub use device::{Cuda, CudaError};
pub use gpu::{Failure, OnFailure};
