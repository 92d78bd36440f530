//! CPU kernels of papir: slices in, slices out.
//!
//! All code that depends on the CPU, and all `unsafe` that buys speed, lives in
//! this crate. [`Backend`] detects the CPU once. The folder `portable` is the
//! meaning of every kernel; `x86_64/avx2` and `x86_64/avx512` hold the same file
//! names with the same results, bit for bit.
//!
//! Each kernel `f(…)` runs on [`Backend::current`]; its twin `f_with(backend, …)`
//! runs on the backend given, so that one test body covers all of them. Slice
//! lengths that do not match are errors of the calling program and panic; a
//! kernel never sees lengths that came from outside unchecked.

#[macro_use]
mod dispatch;

pub mod backend;
pub mod bits;
pub mod gadget;
pub mod galois;
pub mod mat32;
pub mod monomial;
pub mod ntt;
pub mod pointwise;
pub mod rows16;
pub mod rows8;

mod portable;
mod tile;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use backend::{Backend, BackendError};
