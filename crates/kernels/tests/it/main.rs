//! The kernels: every backend against `papir-reference`.
#![allow(clippy::unwrap_used)]

mod bits;
mod common;
mod gadget;
mod galois;
mod mat32;
mod monomial;
mod ntt;
mod pointwise;
mod rows16;
mod rows8;
mod simplex;
mod wide;
