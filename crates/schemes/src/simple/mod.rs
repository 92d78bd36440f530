//! SimplePIR: Henzinger, Hong, Corrigan-Gibbs, Meiklejohn, Vaikuntanathan, *One Server for the
//! Price of Two: Simple and Fast Single-Server Private Information Retrieval* (USENIX Security
//! 2023, ePrint 2022/949).
//!
//! The database is a matrix D of bytes; a query encrypts the unit vector of one column by Regev's
//! scheme under q = 2³²; the answer is D times the query; what depends on the database alone, the
//! hint D·A, is fetched once a version. The smallest real scheme here, and the one with a hint.
//!
//! | the paper, figure 2 | function |
//! |---|---|
//! | `Setup` | [`server::SimpleServer`]'s `setup`; the hint by [`papir_lattice::lwe32::MaskProducts`] |
//! | `Query` | [`client::SimpleClient`]'s `query`; the ciphertext by [`papir_lattice::lwe32::encrypt`] |
//! | `Answer` | [`server::SimpleServer`]'s `answer`: one pass of `papir_kernels::matvec_u8` |
//! | `Recover` | [`client::SimpleClient`]'s `extract` |
//!
//! What differs from the paper: a record lies in one column, its bytes one below the other, so
//! that one answer returns it whole, however long; the plaintext modulus is p = 256, so that bytes
//! are words; words count centred (w − 128), which halves the noise; the answer is rounded to
//! about 9 bits a word; the noise is wider (σ = 11) for 128 bits at n = 1024, which the paper's
//! σ = 6.4 misses; A is made of negacyclic blocks, so that products with it take transforms.

pub mod client;
pub(crate) mod columns;
pub(crate) mod layout;
mod noise;
pub mod packed;
pub mod params;
pub mod server;
#[cfg(test)]
mod tests;
mod update;
pub mod wire;

use papir_core::scheme::{Never, Scheme};
use papir_core::{Blob, Privacy};
use papir_lattice::lwe32::{self, Masks};
use papir_ring::prg::Seed;

/// D.
type ByteMatrix = lwe32::ByteMatrix<Blob>;

/// A: its rows belong to the columns of D.
fn masks(seed: Seed) -> Masks {
    Masks::new(seed, "simple/lwe-matrix")
}

/// SimplePIR.
pub struct Simple;

impl Scheme for Simple {
    const NAME: &'static str = "simple";
    const ID: u16 = 1;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = params::SimpleParams;
    type Public = wire::SimplePublic;
    type Query = wire::SimpleQuery;
    type Answer = wire::SimpleAnswer;
    type Secret = client::SimpleSecret;
    type ClientKeys = Never;
    type ClientState = Never;
    type Ticket = Never;
    type Server = server::SimpleServer;
    type Client = client::SimpleClient;
}
