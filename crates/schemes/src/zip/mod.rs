//! ZipPIR: Akhavan Mahdavi, Diao, Kerschbaum, *ZipPIR: High-throughput Single-server PIR without
//! Client-side Storage*.
//!
//! SimplePIR whose hint stays with the server. Decrypting an answer takes ⟨hᵣ, s⟩ for each row r, with
//! the hint's row hᵣ and the query's LWE key s. The server computes it under Paillier encryption, many
//! rows in one ciphertext, and nearly all of that before the query is known: an encryption of s is an
//! encryption of random numbers, which both sides expand from a seed, plus their difference from s,
//! which the query brings. What the server makes of the random part is a [`ticket`](wire::ZipTicket),
//! good for one query.
//!
//! | the paper | function |
//! |---|---|
//! | Algorithm 5, `Setup` | [`client::ZipClient`]'s `register`; ck_r by [`papir_paillier::random_ciphertexts`] |
//! | `Hint` | [`server::ZipServer`]'s `ticket`: products of powers modulo m² |
//! | `Query` | [`client::ZipClient`]'s `query`; pt_r by `prepare` |
//! | `Response` | [`server::ZipServer`]'s `answer`: line 17 is `select`, line 18 `second_products` |
//! | `Extract` | [`client::ZipClient`]'s `extract` |
//! | batched responses (3.2, 4.3) | `slots` |
//! | the second product in an RNS (4.3) | `residues` |
//! | one ciphertext for answer and hint (4.3) | [`server::ZipServer`]'s `join` |
//! | Theorem 3 | `noise`, whose bound also counts rounding and what spills from slot to slot |
//!
//! What differs from the paper: A is a module's (`papir_lattice::lwe32`), so that n = 1280 serves in
//! place of 1400 and products with A take transforms; words of D are centred bytes; the hint is rounded
//! to 16 bits a slot, p = 2⁸ of them message, 191 slots a ciphertext instead of 128; the means of what
//! rounding and spilling add are known to the server or the client and taken off, which halves both
//! variances; the query's words are rounded.
//!
//! A number masks one LWE key and is used once: a second query under it would show the server the
//! difference of two keys. The client counts numbers up, on disk before anything is sent, and the
//! server's registry answers a number's second query only when it is the first one again.

pub mod client;
mod noise;
pub mod params;
mod residues;
pub mod server;
mod slots;
#[cfg(test)]
mod tests;
mod ticket;
mod update;
pub mod wire;

use std::fmt::Debug;
use std::marker::PhantomData;

use papir_core::Privacy;
use papir_core::scheme::Scheme;
use papir_lattice::lwe32::{ByteMatrix as Bytes, Masks};
use papir_ring::prg::Seed;

/// D.
type ByteMatrix = Bytes<papir_core::Blob>;

/// A: its rows belong to the columns of D.
fn masks(seed: Seed) -> Masks {
    Masks::module(seed, "zip/lwe-matrix")
}

/// How long a client's Paillier modulus is; under which name the scheme goes with it.
pub trait Strength: Copy + Debug + Send + Sync + 'static {
    /// The scheme's name.
    const NAME: &'static str;
    /// The scheme's number on the wire.
    const ID: u16;
    /// Whether the modulus is long enough.
    const PRIVACY: Privacy;

    /// The parameters of Paillier's scheme, s = 1.
    ///
    /// # Errors
    /// [`papir_paillier::Error`] for parameters that are refused.
    fn paillier() -> papir_paillier::Result<papir_paillier::Params>;
}

/// 3,072 bits.
#[derive(Clone, Copy, Debug)]
pub struct Full;

impl Strength for Full {
    const NAME: &'static str = "zip";
    const ID: u16 = 8;
    const PRIVACY: Privacy = Privacy::Private;

    fn paillier() -> papir_paillier::Result<papir_paillier::Params> {
        Ok(papir_paillier::Params::PAILLIER_3072)
    }
}

/// ZipPIR.
pub struct Zip<T = Full>(PhantomData<fn() -> T>);

impl<T: Strength> Scheme for Zip<T> {
    const NAME: &'static str = T::NAME;
    const ID: u16 = T::ID;
    const PRIVACY: Privacy = T::PRIVACY;

    type Params = params::ZipParams<T>;
    type Public = wire::ZipPublic;
    type Query = wire::ZipQuery;
    type Answer = wire::ZipAnswer;
    type Secret = client::ZipSecret;
    type ClientKeys = wire::ZipKeys;
    type ClientState = client::ZipState;
    type Ticket = wire::ZipTicket;
    type Server = server::ZipServer<T>;
    type Client = client::ZipClient<T>;
}
