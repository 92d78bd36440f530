//! Tests of the kernels: every backend against `papir-reference`.
#![allow(clippy::unwrap_used)]

mod bigint_mod;
mod bits;
mod byte_product;
mod common;
mod gadget;
mod galois;
mod mat32;
mod matvec_i16;
mod matvec_i32;
mod matvec_u4;
mod matvec_u8;
mod monomial;
mod ntt;
mod peak;
mod pointwise;
mod poly_eval;
mod small_prime;
mod wide;
