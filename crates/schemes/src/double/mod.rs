//! DoublePIR, for records of up to [`MAX_RECORD_BITS`] bits.
//!
//! Henzinger, Hong, Corrigan-Gibbs, Meiklejohn, Vaikuntanathan, *One Server for the Price of Two:
//! Simple and Fast Single-Server Private Information Retrieval* (USENIX Security 2023, ePrint
//! 2022/949), section 5.
//!
//! The first level is SimplePIR over a matrix D of bytes: an encrypted unit vector selects a
//! column. Its client would need one row of the hint D·A₁, which grows with the database. So the
//! second level is SimplePIR again. Its database consists of digits of the hint and of the first
//! answer; the columns of this database are the rows of D, and a second encrypted unit vector
//! selects one of them. The client downloads the hint of this database once; the size of the hint
//! depends on n and not on D.
//!
//! ```text
//! setup    D ← records as bytes; H₁ ← D·A₁; D₂ ← digits of H₁; hint ← D₂·A₂
//! query    q₁ ← A₁·s₁ + e₁ + Δ·(unit vector of the column), q₂ the same for the row under A₂, s₂
//! answer   a₁ ← D·q₁                          all queries in one pass over the database
//!          (digits of H₁ and a₁)·q₂, and (digits of a₁)·A₂: what is known only now
//! extract  remove s₂: the digits of the row of H₁ and of a₁; remove s₁: the record
//! ```
//!
//! | the paper | function |
//! |---|---|
//! | `Setup` | [`server::DoubleServer`]'s `setup`; D·A₁, its digits and their hint in `levels` |
//! | `Query` | [`client::DoubleClient`]'s `query`, by [`papir_lattice::lwe32::encrypt`] |
//! | `Answer` | [`server::DoubleServer`]'s `first_level`, `second_level` and `round` |
//! | `Recover` | [`client::DoubleClient`]'s `extract` |
//!
//! Differences from the paper: words are centred (w − 128), which halves the noise; D·A₁ and the
//! first answer are rounded before they become digits (3 and 2 of 7 bits, instead of 4 of 8);
//! query, hint and answer are rounded; a record of several bytes has a digit database for each byte
//! under the same query; the noise is wider (σ = 11) for 128 bits at n = 1024, which the paper's σ
//! = 6.4 misses; A₁ and A₂ consist of negacyclic blocks, so that products with them take transforms
//! ([`papir_lattice::lwe32`]). Each level has its own matrix A and secret.
//!
//! YPIR and InsPIRe₀ ([`packed`]) start from the same first level, with D·A₁ at setup and the first
//! answers online, and pack the second level's ciphertexts into few ring ciphertexts.

pub(crate) mod certificate;
pub mod client;
pub(crate) mod levels;
pub(crate) mod noise;
pub mod packed;
pub mod params;
pub mod rows;
pub mod server;
#[cfg(test)]
mod tests;
pub mod wire;

use papir_core::Privacy;
use papir_core::scheme::{Scheme, Unregistered};

pub use params::{Double, MAX_RECORD_BITS};

impl Scheme for Double {
    const NAME: &'static str = params::NAME;
    const ID: u16 = 3;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = params::DoubleParams;
    type Public = wire::DoublePublic;
    type Query = wire::DoubleQuery;
    type Answer = wire::DoubleAnswer;
    type Secret = client::DoubleSecret;
    type Registration = Unregistered;
    type Server = server::DoubleServer;
    type Client = client::DoubleClient;
}
