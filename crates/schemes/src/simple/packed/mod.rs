//! SimplePIR with packed answers.
//!
//! Clients download no hint, or a hint of a few bits for each row instead of the 4 KiB of
//! SimplePIR.
//!
//! | scheme | source | packing | words | masks of answers |
//! |---|---|---|---|---|
//! | [`SimpleYpir`] | YPIR, section 4.3 | CDKS | 16 bits | in every answer |
//! | [`Inspire1`] | InsPIRe, Algorithm 9 with t = 1 | InspiRING | 4 bits | in the public part |
//!
//! The papers are Menon, Wu, *YPIR: High-Throughput Single-Server PIR with Silent Preprocessing*,
//! USENIX Security 2024, ePrint 2024/270, and InsPIRe (Mahdavi, Patel, Seo, Yeo 2025).
//!
//! The database is a matrix of words, and a column holds one or more records. The client selects a
//! column under LWE over the packing ring and receives all of it, with d words in each ring
//! encryption. If entries of the matrix have several words, it receives one of them from each entry
//! ([`papir_lattice::selection::stacked`], decision 64).
//!
//! | the YPIR paper | here |
//! |---|---|
//! | `DBSetup` | [`server::Server`]'s `prepare` |
//! | `DBSetup`, the matrix | [`layout`] |
//! | `DBSetup`, its packs | [`crate::shared::selection::server`] |
//! | `Query` | [`client::Client`]'s `query`: [`crate::shared::selection::client`] |
//! | `Answer` | [`crate::shared::selection::PackedMatrix::answers`] |
//! | `Extract` | [`client::Client`]'s `extract` |
//!
//! Differences from the papers: words are centred; records are whitened by a public stream that the
//! client removes, so that the noise bound holds for every database; selector, keys and answer are
//! sent in the fewest bits that the noise allows; the gadget drops low bits.
//!
//! Short words make short messages. The size of a word counts twice: it multiplies every error of a
//! selector, and it is the number of messages that the modulus must tell apart. Words of 4
//! bits leave so much room that a packing key has one digit and a selector entry about 18 bits, and
//! the body of an answer 5 bits for each word of 4. The masks of packs are twice as long as the
//! bodies, but the same for every answer of a version, so a client fetches them once
//! ([`crate::shared::selection::Masks`]).

mod certificate;
mod choice;
pub mod client;
pub mod layout;
pub mod params;
mod rows;
pub mod server;
#[cfg(test)]
mod tests;

use papir_core::Privacy;
use papir_core::scheme::{Scheme, Unregistered};

use crate::shared::selection::{SelectionAnswer, SelectionQuery};

pub use crate::shared::selection::{ByCdks, ByInspiring, PackedVariant, SelectionPublic as Public};
pub use client::{Client, Secret};
pub use params::{Packed, Params};
pub use server::Server;

/// SimpleYPIR, as a scheme.
pub type SimpleYpir = Packed<ByCdks>;
/// InsPIRe with t = 1, as a scheme. Its clients fetch masks once.
pub type Inspire1 = Packed<ByInspiring>;

impl<V: PackedVariant> Scheme for Packed<V> {
    const NAME: &'static str = V::SIMPLE.name;
    const ID: u16 = V::SIMPLE.id;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = Params<V>;
    type Public = Public;
    type Query = SelectionQuery;
    type Answer = SelectionAnswer;
    type Secret = Secret;
    type Registration = Unregistered;
    type Server = Server<V>;
    type Client = Client<V>;
}
