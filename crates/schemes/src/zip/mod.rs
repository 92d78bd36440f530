//! ZipPIR: Akhavan Mahdavi, Diao, Kerschbaum, *ZipPIR: High-throughput Single-server PIR without
//! Client-side Storage*.
//!
//! The scheme is SimplePIR or DoublePIR, but the hint stays on the server. Decrypting row r of an
//! answer takes its phase bᵣ − ⟨hᵣ, s⟩, where hᵣ is a row of the hint and s is the query's LWE key
//! of n bits. The server computes the phase under Paillier encryption, many rows in one ciphertext.
//! It does nearly all of that before s is known: an encryption of s is an encryption of random
//! numbers, which both sides expand from a seed, plus their difference from s, which the query
//! contains. The product with the random part is a [`ticket`](wire::Ticket), valid for one query.
//!
//! ```text
//! register  keys ← Paillier modulus, seed of the encryptions of random numbers ρ₁, ρ₂, …
//! setup     as in the scheme below; the hint H stays with the server
//! ticket    t ← Enc(H·ρᵢ)                     in idle time, before a query
//! query     q ← the scheme's query under a fresh s; the difference s − ρᵢ
//! answer    a ← D·q; Enc(a − H·s), from a, the difference and t: many rows in one ciphertext
//! extract   decrypt: the phases of a; round them
//! ```
//!
//! | the paper | here |
//! |---|---|
//! | Algorithm 5, `Setup` | [`client::ZipClient`]'s `register` |
//! | `Hint`, line 7 | [`server::ZipServer`]'s `ticket`: products of powers modulo m², in `hint` |
//! | `Query` | [`client::ZipClient`]'s `query`; pt_r by `prepare` |
//! | `Response` | [`server::ZipServer`]'s `answer` |
//! | `Response`, line 17 | `select` of `base::Base` |
//! | `Response`, line 18 | `hint` and `residues` |
//! | `Extract` | [`client::ZipClient`]'s `extract` |
//! | ck_r, many of them from one seed (4.3) | [`wire::Keys`]' `masks` |
//! | one ciphertext for answer and hint (4.3) | `hint` |
//! | with client storage (4.3) | [`client::ZipClient`]'s `send_ahead` and `hold` |
//! | batches (3.3, 3.3.3) | `slots` |
//! | packed compression keys (6, Appendix A) | `key_bits`: t bits of s in one plaintext |
//! | Theorem 3 | `noise`, whose bound includes rounding and the spill between slots |
//! | over SimplePIR | [`Zip`] |
//! | over DoublePIR (6), for records of few bits | [`ZipDouble`] |
//!
//! Over DoublePIR, the second level's ciphertexts of the first hint's digits have masks that are
//! known at setup. The ciphertexts of the first answer's digits are few and are sent with their
//! masks. The second hint has 3·n rows for each byte of a record, for any number of records, so a
//! ticket takes seconds of work instead of many.
//!
//! Differences from the paper:
//!
//! - A is structured (module LWE, `papir_lattice::lwe32`), so that n = 1280 suffices instead of
//!   1400 and products with A are computed by transforms.
//! - Words of D are centred bytes.
//! - The hint is rounded to 16 bits a slot, 8 of them message (p = 2⁸), with 191 slots in a
//!   ciphertext instead of 128.
//! - The known means of rounding and spill are subtracted, which halves both variances.
//! - The query's words are rounded.
//! - Packed keys are combined with batches.
//! - A client that stores something stores its LWE key and ⟨H, s⟩, and sends ck_o beforehand. In
//!   the paper it downloads its ticket beforehand, and sends ck_o with the query.
//!
//! A number masks one LWE key and is used once: a second query under it would show the server the
//! difference of two keys. A key encrypts one query. The client stores the next number on disk
//! before it sends a query. If a second query has the same number, the server's registry answers it
//! only if it repeats the first.

mod base;
mod certificate;
pub mod client;
mod compression;
mod hint;
mod noise;
pub mod over_double;
pub mod over_simple;
pub mod params;
mod residues;
mod rows;
pub mod server;
mod slots;
#[cfg(test)]
mod tests;
pub mod wire;

use papir_core::Privacy;
use papir_core::scheme::{RegisteredWith, Scheme};

pub use base::{ParameterSet, Standard};
pub use params::ZipPir;

/// ZipPIR over SimplePIR.
pub type Zip<T = Standard> = ZipPir<over_simple::Columns<T>>;
/// ZipPIR over DoublePIR.
pub type ZipDouble<T = Standard> = ZipPir<over_double::Levels<T>>;

impl<B: base::Base> Scheme for ZipPir<B> {
    const NAME: &'static str = B::NAME;
    const ID: u16 = B::ID;
    const PRIVACY: Privacy = B::Set::PRIVACY;

    type Params = params::ZipParams<B>;
    type Public = wire::Public;
    type Query = wire::ZipQuery;
    type Answer = wire::ZipAnswer;
    type Secret = client::ZipSecret<B>;
    type Registration = RegisteredWith<wire::Keys, client::State, wire::Ticket>;
    type Server = server::ZipServer<B>;
    type Client = client::ZipClient<B>;
}
