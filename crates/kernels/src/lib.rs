//! CPU kernels of papir: slices in, slices out.
//!
//! All code that depends on the CPU, and all `unsafe` code written for speed, is in this crate.
//! A kernel takes the [`Backend`] that runs it before its other arguments; functions without one
//! have a single implementation. Callers hold a backend with their tables, or ask
//! [`Backend::current`], which detects the CPU once, outside their loops. All backends give the
//! same results, bit for bit, so one test body covers them all. Slices of mismatched lengths are
//! bugs of the caller and panic: lengths that come from outside must be checked before they reach a
//! kernel.
//!
//! # Files of a kernel
//!
//! - `src/name.rs`: public functions, their documentation and their checks of lengths.
//! - `src/name/…`, `src/modulus.rs`, `src/layout.rs`: types and constants that the backends share.
//!   Backends import these and never `src/name.rs`, which calls them: no cycle of modules.
//! - `src/portable/name.rs`: the definition of the kernel, which runs everywhere. A kernel on
//!   registers is written here once, over the trait `Lanes`; on x86-64 it runs on SSE2's lanes, on
//!   aarch64 on NEON's.
//! - `src/x86_64/avx2/name.rs`, `src/x86_64/avx512/name.rs`: code that needs more CPU features,
//!   behind `#[target_feature]`. Both share `src/x86_64/name.rs`, written over `WideLanes`.
//! - `src/x86_64/amx/`: passes that several queries share, in tiles of bytes. All other kernels of
//!   that backend are the kernels of AVX-512.
//! - `src/aarch64/name.rs`: kernels with dot products of bytes; the others are the portable ones.
//! - `tests/it/name.rs`: tests of every backend against `papir-reference`. `benches/` has timings.
//!
//! [`bigint_mod`] has engines instead of kernels, because the form of its elements differs between
//! backends.
//!
//! To add a kernel, write its definition with `#[inline(always)]` and declare it with `kernel!`:
//! LLVM vectorises it for each backend, and no further files are needed. If that is too slow, put
//! `name.rs` into *both* x86-64 folders and call it with `dispatch!`. To add an instruction set,
//! add a kind and its detection in `backend.rs`, an arm in the macros of `dispatch.rs` and in
//! `bigint_mod/field.rs`, and a folder with lanes and the same files as the other folders.

#[macro_use]
mod dispatch;

pub mod backend;
pub mod bigint_mod;
pub mod bits;
pub mod gadget;
pub mod galois;
pub mod mat32;
pub mod matvec_i16;
pub mod matvec_i32;
pub mod matvec_u4;
pub mod matvec_u8;
pub mod monomial;
pub mod ntt;
pub mod peak;
pub mod pointwise;
pub mod poly_eval;
pub mod small_prime;
pub mod wide;

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod byte_tiles;
mod layout;
mod modulus;
mod portable;
mod stream;
mod tile;
#[cfg(test)]
mod vectors;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use backend::{Backend, BackendError};
