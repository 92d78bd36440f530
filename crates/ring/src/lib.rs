//! The ring `R_q = Z_q[X]/(X^d + 1)`, its randomness and its noise.
//!
//! - [`ring::Ring`]: tables and operations modulo two primes; [`wide::Ring`]: modulo one prime
//!   below 2⁵⁰; [`cyclotomic::CyclotomicRing`]: the operations of both.
//! - [`poly::Poly`]: residues of a polynomial, with their form (coefficients or values) in the
//!   type.
//! - [`aligned::Aligned`]: words that start on a cache line.
//! - [`prg`]: public expansion of seeds, and secret randomness.
//! - [`sample`]: constant-time samplers of noise.
//! - [`prime`]: primes and roots of unity.
//! - [`rns`]: the ring modulo a product of many primes; [`crt`] converts its residues back.

pub mod aligned;
pub mod crt;
pub mod cyclotomic;
pub mod poly;
pub mod prg;
pub mod prime;
pub mod ring;
pub mod rns;
pub mod sample;
pub mod wide;

pub use aligned::{Aligned, Word};
pub use cyclotomic::CyclotomicRing;
pub use poly::{Coefficients, Form, Poly, Values};
pub use ring::{Accumulator, Ring, RingError};
