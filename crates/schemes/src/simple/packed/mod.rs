//! SimpleYPIR: SimplePIR with packed answers, without a hint to download.
//!
//! Menon, Wu, *YPIR: High-Throughput Single-Server PIR with Silent Preprocessing*, USENIX Security
//! 2024, ePrint 2024/270, section 4.3.
//!
//! The database is a matrix of 16-bit words; a column holds one or more records. The client selects
//! a column under LWE over the packing ring and receives all of it, d words in a ring encryption
//! (CDKS packing).
//!
//! | the paper | here |
//! |---|---|
//! | `DBSetup` | [`server::Server`]'s `prepare`; the matrix in [`layout`], its packs in [`crate::shared::selection::server`] |
//! | `Query` | [`client::Client`]'s `query`: [`crate::shared::selection::client`] |
//! | `Answer` | [`crate::shared::selection::PackedMatrix::answers`] |
//! | `Extract` | [`client::Client`]'s `extract` |
//!
//! Differences from the paper: words are centred and modulo 2¹⁶; records are whitened by a public
//! stream that the client removes, so that the noise bound holds for every database; selector, keys
//! and answer are sent in as few bits as the noise allows; the gadget drops low bits.

pub mod client;
pub mod layout;
pub mod params;
pub mod server;
#[cfg(test)]
mod tests;

use papir_core::Privacy;
use papir_core::scheme::{Never, Scheme};

use crate::shared::selection::{SelectionAnswer, SelectionQuery};

pub use crate::shared::messages::PublicSeed as Public;
pub use client::{Client, Secret};
pub use params::{Params, SimpleYpir};
pub use server::Server;

impl Scheme for SimpleYpir {
    const NAME: &'static str = params::NAME;
    const ID: u16 = 7;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = Params;
    type Public = Public;
    type Query = SelectionQuery;
    type Answer = SelectionAnswer;
    type Secret = Secret;
    type ClientKeys = Never;
    type ClientState = Never;
    type Ticket = Never;
    type Server = Server;
    type Client = Client;
}
