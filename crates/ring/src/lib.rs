//! The ring `R_q = Z_q[X]/(X^d + 1)`, its randomness and its noise.
//!
//! - [`ring::Ring`]: tables and operations modulo two primes.
//! - [`poly::Poly`]: residues of a polynomial, with their form (coefficients or values) in the
//!   type.
//! - [`prg`]: public expansion of seeds, and secret randomness.
//! - [`sample`]: constant-time samplers of noise.
//! - [`prime`]: primes and roots of unity.
//! - [`rns`]: the ring modulo a product of many primes; [`crt`] converts its residues back.

pub mod crt;
pub mod poly;
pub mod prg;
pub mod prime;
pub mod ring;
pub mod rns;
pub mod sample;

pub use poly::{Coefficients, Form, Poly, Values};
pub use ring::{Accumulator, Ring, RingError};
