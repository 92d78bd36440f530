//! Numbers and polynomials: the ring `R_q = Z_q[X]/(X^d + 1)`, its sampling and its seeds.
//!
//! [`ring::Ring`] holds the tables and the operations, [`poly::Poly`] the residues with their form
//! (coefficients or values) in the type, [`prg`] public expansion and secret randomness, [`sample`]
//! the constant-time noise, [`prime`] primes and roots of unity. [`rns`] is the ring modulo a product of many
//! primes, [`crt`] the way back from their residues.

pub mod crt;
pub mod poly;
pub mod prg;
pub mod prime;
pub mod ring;
pub mod rns;
pub mod sample;

pub use poly::{Coefficients, Form, Poly, Values};
pub use ring::{Accumulator, Ring, RingError};
