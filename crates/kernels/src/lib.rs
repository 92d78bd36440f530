//! CPU kernels of papir: slices in, slices out.
//!
//! All code that depends on the CPU, and all `unsafe` that buys speed, lives in
//! this crate. [`Backend`] detects the CPU once. Each kernel `f(…)` runs on
//! [`Backend::current`]; its twin `f_with(backend, …)` runs on the backend given, so
//! that one test body covers all of them, and all give the same results, bit for bit.
//! Slice lengths that do not match are errors of the calling program and panic; a
//! kernel never sees lengths that came from outside unchecked.
//!
//! # How a kernel is laid out
//!
//! - `src/name.rs`: the public functions, their documentation and checks of lengths.
//! - `src/portable/name.rs`: the meaning, which runs everywhere. A kernel on registers is
//!   written here once, over the trait `Lanes`; on x86-64 the lanes are those of SSE2.
//! - `src/x86_64/avx2/name.rs`, `src/x86_64/avx512/name.rs`: what needs more, behind
//!   `#[target_feature]`; what the two share is in `src/x86_64/name.rs`, over `WideLanes`.
//! - `tests/it/name.rs`: every backend against `papir-reference`; `examples/` measure.
//!
//! [`bigint_mod`] has a folder of its own and engines instead of kernels: its elements have another
//! form on each backend.
//!
//! To add one: write its meaning with `#[inline(always)]` and declare it by `kernel!`,
//! which has LLVM vectorise it for each backend; there are no further files. Where that
//! is not enough, put `name.rs` into *both* x86-64 folders and call it by `dispatch!`.
//! To add an instruction set: a kind and its detection in `backend.rs`, an arm in the
//! macros of `dispatch.rs`, and a folder with lanes and the files that the others have.

#[macro_use]
mod dispatch;

pub mod backend;
pub mod bigint_mod;
pub mod bits;
pub mod gadget;
pub mod galois;
pub mod mat32;
pub mod matvec_i16;
pub mod matvec_u8;
pub mod monomial;
pub mod ntt;
pub mod pointwise;
pub mod poly_eval;

mod layout;
mod modulus;
mod portable;
mod stream;
mod tile;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use backend::{Backend, BackendError};
