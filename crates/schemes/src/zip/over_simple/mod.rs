//! ZipPIR: Akhavan Mahdavi, Diao, Kerschbaum, *ZipPIR: High-throughput Single-server PIR without
//! Client-side Storage*.
//!
//! SimplePIR whose hint stays with the server, which multiplies it with the query's LWE key under Paillier
//! encryption ([`crate::zip::compression`]), ahead of the query but for a difference that the query brings.
//!
//! | the paper | function |
//! |---|---|
//! | Algorithm 5, `Setup` | [`client::ZipClient`]'s `register` |
//! | `Hint` | [`server::ZipServer`]'s `ticket` |
//! | `Query` | [`client::ZipClient`]'s `query`; pt_r by `prepare` |
//! | `Response` | [`server::ZipServer`]'s `answer`: line 17 is `select`, line 18 `second_products` and `join` |
//! | `Extract` | [`client::ZipClient`]'s `extract` |
//! | with client storage (4.3) | [`client::ZipClient`]'s `hold` |
//! | with a packed compression key (6) | `key_bits` of [`params::ZipParams::new`] |
//! | Theorem 3 | `noise`, whose bound also counts rounding and what spills from slot to slot |
//!
//! What differs from the paper: A is a module's (`papir_lattice::lwe32`), so that n = 1280 serves in
//! place of 1400 and products with A take transforms; words of D are centred bytes; the hint is rounded
//! to 16 bits a slot, p = 2⁸ of them message, 191 slots a ciphertext instead of 128; the means of what
//! rounding and spilling add are known to the server or the client and taken off, which halves both
//! variances; the query's words are rounded; packed keys serve batches, too.

pub mod client;
mod noise;
pub mod params;
pub mod server;
#[cfg(test)]
mod tests;
mod update;
pub mod wire;

use std::marker::PhantomData;

use papir_core::Privacy;
use papir_core::scheme::Scheme;
use papir_lattice::lwe32::{ByteMatrix as Bytes, Masks};
use papir_ring::prg::Seed;

use crate::zip::compression::client::State;
use crate::zip::compression::wire::{Keys, Public, Ticket};
pub use crate::zip::compression::{Full, Strength};

/// D.
type ByteMatrix = Bytes<papir_core::Blob>;

/// A: its rows belong to the columns of D.
fn masks(seed: Seed) -> Masks {
    Masks::module(seed, "zip/lwe-matrix")
}

/// ZipPIR.
pub struct Zip<T = Full>(PhantomData<fn() -> T>);

impl<T: Strength> Scheme for Zip<T> {
    const NAME: &'static str = T::ZIP.0;
    const ID: u16 = T::ZIP.1;
    const PRIVACY: Privacy = T::PRIVACY;

    type Params = params::ZipParams<T>;
    type Public = Public;
    type Query = wire::ZipQuery;
    type Answer = wire::ZipAnswer;
    type Secret = client::ZipSecret;
    type ClientKeys = Keys;
    type ClientState = State;
    type Ticket = Ticket;
    type Server = server::ZipServer<T>;
    type Client = client::ZipClient<T>;
}
