//! The product of a hint with an LWE key in few Paillier ciphertexts, nearly all of it computed before the key
//! is chosen: batched compression of LWE ciphertexts (Akhavan Mahdavi, Diao, Kerschbaum, *ZipPIR:
//! High-throughput Single-server PIR without Client-side Storage*, section 3.3), split into an offline and an
//! online part (section 4). [`crate::zip::over_simple`] is SimplePIR with it, [`crate::zip::over_double`] DoublePIR.
//!
//! Decrypting row r of an answer takes its phase bᵣ − ⟨hᵣ, s⟩, hᵣ a row of the hint and s the query's LWE key
//! of n bits. The server computes it under Paillier encryption, many rows in one ciphertext, and nearly all
//! of that before s is known: an encryption of s is an encryption of random numbers, which both sides expand
//! from a seed, plus their difference from s, which the query brings. What the server makes of the random
//! part is a [`ticket`](wire::Ticket), good for one query.
//!
//! | the paper | here |
//! |---|---|
//! | ck_r, many of them from one seed (4.3) | `ticket::random_key` |
//! | pt_r, ck_o (Algorithm 5, lines 4 and 11) | `client` |
//! | `Hint`, line 7 | `ticket`: products of powers modulo m² |
//! | `Response`, line 18, in an RNS (4.3) | `hint`, `residues` |
//! | one ciphertext for answer and hint (4.3) | `hint` |
//! | client storage (4.3): the client fetches its ticket beforehand | [`client::State`]'s held hints |
//! | batches (3.3, 3.3.3) | `slots` |
//! | packed compression keys (Appendix A) | t bits of s in one plaintext: `slots` |
//!
//! A number masks one LWE key and is used once: a second query under it would show the server the
//! difference of two keys. The client counts numbers up, on disk before anything is sent, and the
//! server's registry answers a number's second query only when it is the first one again.

pub mod client;
pub(crate) mod hint;
pub(crate) mod noise;
pub mod params;
mod residues;
pub(crate) mod slots;
mod strength;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod ticket;
pub mod wire;

pub use params::{Compressed, Compression};
pub use strength::{Full, Strength};
