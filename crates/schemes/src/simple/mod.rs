//! SimplePIR.
//!
//! Clients download a hint once for each version.
//!
//! Henzinger, Hong, Corrigan-Gibbs, Meiklejohn, Vaikuntanathan, *One Server for the Price of Two:
//! Simple and Fast Single-Server Private Information Retrieval* (USENIX Security 2023, ePrint
//! 2022/949).
//!
//! The database is a matrix D of bytes. A query encrypts the unit vector of one column by Regev's
//! scheme with q = 2³². The answer is D times the query. The hint D·A depends on the database
//! alone.
//!
//! ```text
//! setup    D ← records as bytes, a record in one column; hint ← D·A, rounded
//! query    q ← A·s + e + Δ·(unit vector of the column)
//! answer   a ← D·q, rounded                   all queries in one pass over the database
//! extract  a − hint·s, rounded to multiples of Δ: the bytes of the column
//! ```
//!
//! | the paper, figure 2 | function |
//! |---|---|
//! | `Setup` | [`server::SimpleServer`]'s `setup` |
//! | `Setup`, the hint | [`papir_lattice::lwe32::MaskProducts`] |
//! | `Query` | [`client::SimpleClient`]'s `query` |
//! | `Query`, the ciphertext | [`papir_lattice::lwe32::encrypt`] |
//! | `Answer` | [`server::SimpleServer`]'s `answer`: one pass of `papir_kernels::matvec_u8` |
//! | `Answer` on several machines | `shard` |
//! | `Recover` | [`client::SimpleClient`]'s `extract` |
//!
//! Differences from the paper: a record is stored in one column, its bytes below one another, so
//! that one answer returns all of it; the plaintext modulus is p = 256, so that bytes are words;
//! words are centred (w − 128), which halves the noise; the answer is rounded to about 9 bits a
//! word; the noise is wider (σ = 11) for 128 bits at n = 1024, which the paper's σ = 6.4 does not
//! reach; A consists of negacyclic blocks, so that products with it take transforms.

mod certificate;
pub mod client;
mod noise;
pub mod packed;
pub mod params;
mod rows;
pub mod server;
mod shard;
#[cfg(test)]
mod tests;
pub mod wire;

use papir_core::Privacy;
use papir_core::scheme::{DividedScheme, OnDevice, Scheme, Unregistered};

pub use params::Simple;

impl Scheme for Simple {
    const NAME: &'static str = params::NAME;
    const ID: u16 = 1;
    const PRIVACY: Privacy = Privacy::Private;
    const DIVIDED: Option<&'static dyn DividedScheme<Self>> = Some(&shard::SimpleSlices);
    const DEVICE: Option<&'static dyn OnDevice<Self>> = Some(&server::SimpleOnDevice);

    type Params = params::SimpleParams;
    type Public = wire::SimplePublic;
    type Query = wire::SimpleQuery;
    type Answer = wire::SimpleAnswer;
    type Secret = client::SimpleSecret;
    type Registration = Unregistered;
    type Server = server::SimpleServer;
    type Client = client::SimpleClient;
}
